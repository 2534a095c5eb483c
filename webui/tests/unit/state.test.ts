import { describe, expect, test } from "vitest";
import { agentOf, chosen, company, currentReply, deliveredText, initial, isCharacter, MOST_LINES, offered, reduce, statusWord, stoppable, type Page } from "../../src/shared/state";
import type { ServerFrame, Snapshot } from "../../src/shared/wire";

const STATUS = { listening: false, hearing: false, thinking: false, speaking: false, held: false, degraded: [] };
const features = { speech_in: true, speech_out: true, automatic: true, robotic_voice: [] };
const welcome = (over = {}): ServerFrame => ({
  type: "welcome", seq: 1, visit: "v1", visit_token: "secret", epoch: 1, build: "b", release: "r", languages: ["en", "es"], features, ...over,
});
const snapshot = (over: Partial<Snapshot> = {}): Snapshot => ({
  type: "snapshot", seq: 2, phase: "visit", language: "es", mode: "button", silent: false, volume: 0, exhibit: "a",
  choices: [{ id: "c1", text: "?", kind: "question" }], lines: [], status: STATUS, countdown_s: null, agents: [], agent: "guide", ...over,
});
const run = (page: Page, ...frames: ServerFrame[]) =>
  frames.reduce((now, frame) => reduce(now, { type: "frame", frame, at: 1000 }), page);
const visiting = () => run(initial, welcome(), snapshot());
const speak = (generation: number, id = 1, agent = "guide"): ServerFrame => ({
  type: "utterance", seq: 3, generation, utterance_id: id, text: "One two three.", spans: [[0, 14]], agent,
});
const caption = (generation: number, chars: number, state: "speaking" | "finished" | "interrupted" = "speaking"): ServerFrame => ({
  type: "caption", seq: 4, generation, utterance_id: 1, rendered_chars: chars, state,
});

describe("the page", () => {
  test("a welcome and a snapshot show everything the server has", () => {
    const page = visiting();

    expect(page).toMatchObject({ link: "open", phase: "visit", language: "es", exhibit: "a", visitToken: "secret" });
  });

  test("the first touch shows the visit at once, in the chosen language", () => {
    const page = reduce(run(initial, welcome({ visit: "" })), { type: "touched", language: "es", exhibit: null });

    expect(page).toMatchObject({ phase: "visit", starting: true, language: "es" });
    expect(statusWord(page)).toBe("starting");
  });

  test("a late start-screen snapshot does not throw the visitor back", () => {
    const touched = reduce(run(initial, welcome({ visit: "" })), { type: "touched", language: "en", exhibit: null });

    expect(run(touched, snapshot({ phase: "attract" })).phase).toBe("visit");
  });

  test("a refused start goes back to the start screen", () => {
    const touched = reduce(initial, { type: "touched", language: "en", exhibit: null });

    expect(reduce(touched, { type: "start_refused" }).phase).toBe("attract");
  });

  test("interim words are replaced and an empty final removes the line", () => {
    const heard = (text: string, final: boolean): ServerFrame => ({ type: "transcript", seq: 5, turn_id: "t", text, final });
    const page = run(visiting(), heard("who", false), heard("who made", false));

    expect(page.lines).toEqual([{ role: "visitor", key: "t", text: "who made", final: false }]);
    expect(run(page, heard("", true)).lines).toEqual([]);
  });

  test("clear ends the reply where it was heard, and its later frames are void", () => {
    const page = run(visiting(), speak(1), caption(1, 7), { type: "clear", seq: 6, generation: 1 }, caption(1, 14), speak(1, 2));
    const reply = currentReply(page);

    expect(reply?.state).toBe("interrupted");
    expect(reply && deliveredText(reply)).toBe("One two");
  });

  test("the server's last word about an interruption still counts after clear", () => {
    const page = run(visiting(), speak(1), caption(1, 7), { type: "clear", seq: 6, generation: 1 }, caption(1, 3, "interrupted"));

    expect(currentReply(page)?.utterances[0]?.rendered).toBe(3);
  });

  test("rendered characters never go back while speaking", () => {
    const page = run(visiting(), speak(1), caption(1, 9), caption(1, 4));

    expect(currentReply(page)?.utterances[0]?.rendered).toBe(9);
  });

  test("a reply stays readable after it ended", () => {
    const page = run(visiting(), speak(1), caption(1, 14, "finished"));
    const reply = currentReply(page);

    expect(reply && deliveredText(reply)).toBe("One two three.");
  });

  test("in silent mode a later utterance waits until it is read", () => {
    const page = run(visiting(), speak(1, 1), speak(1, 2));
    const reply = currentReply(page);

    expect(reply && deliveredText(reply, true)).toBe("One two three.");
    const read = currentReply(reduce(page, { type: "read", generation: 1, utterance: 2, chars: 14 }));
    expect(read && deliveredText(read, true)).toBe("One two three. One two three.");
  });

  test("sources stand with their reply", () => {
    const page = run(visiting(), speak(1), { type: "sources", seq: 7, generation: 1, sources: [{ id: "s", title: "A book" }] });

    expect(currentReply(page)?.sources).toEqual([{ id: "s", title: "A book" }]);
  });

  test("reset forgets everything of the visit", () => {
    const full = run(visiting(), speak(1), { type: "notice", seq: 8, code: "not_heard", severity: "info" });
    const page = run(full, { type: "reset", seq: 9, reason: "ended" });

    expect(page).toMatchObject({ phase: "attract", lines: [], choices: [], visit: "", visitToken: "", exhibit: null, notice: null, language: "en" });
    expect(JSON.stringify(page)).not.toContain("three");
  });

  test("a lost link silences the status and keeps the words", () => {
    const busy = run(visiting(), speak(1), { type: "status", seq: 10, status: { ...STATUS, speaking: true } });
    const page = reduce(busy, { type: "link", link: "away" });

    expect([statusWord(page), stoppable(page), page.lines.length]).toEqual(["away", false, 1]);
  });

  test("the countdown becomes a moment, and none withdraws it", () => {
    const page = run(visiting(), { type: "countdown", seq: 11, ends_in_s: 20 });

    expect(page.countdownEndsAt).toBe(21_000);
    expect(run(page, { type: "countdown", seq: 12, ends_in_s: null }).countdownEndsAt).toBeNull();
  });

  test("history is bounded", () => {
    let page = visiting();
    for (let i = 0; i < MOST_LINES + 20; i += 1) {
      page = run(page, { type: "transcript", seq: i, turn_id: `t${i}`, text: "x", final: true });
    }

    expect(page.lines.length).toBe(MOST_LINES);
  });

  test("a newer page takes over and nothing of the visit stays here", () => {
    const page = run(visiting(), speak(1), { type: "taken_over", seq: 13 });

    expect(page).toMatchObject({ link: "taken_over", lines: [], visitToken: "" });
  });

  test("hearing is said before thinking, and stopping is offered while thinking", () => {
    const page = run(visiting(), { type: "status", seq: 14, status: { ...STATUS, thinking: true, hearing: true } });

    expect([statusWord(page), stoppable(page)]).toEqual(["hearing", true]);
  });

  test("a guide that is deaf does not say that it listens", () => {
    const status = { ...initial.status, listening: true };
    const page: Page = { ...initial, link: "open", phase: "visit", status };

    expect(statusWord(page)).toBe("listening");
    expect(statusWord({ ...page, status: { ...status, degraded: ["audio.microphone_lost"] } })).toBe("ready");
  });
});

describe("whom one asks", () => {
  const guide = { id: "guide", name: { en: "The guide" }, description: {}, picture: "" };
  const exekias = { id: "exekias", name: { en: "Exekias", es: "Exequias" }, description: {}, picture: "media/agent-exekias.svg" };
  const two = () => run(initial, welcome(), snapshot({ agents: [guide, exekias], agent: "guide" }));

  test("is known from the snapshot and changes with the focus", () => {
    const page = run(two(), { type: "focus", seq: 3, agent: "exekias" });

    expect([chosen(two())?.id, chosen(page)?.id]).toEqual(["guide", "exekias"]);
    expect([isCharacter(page, "guide"), isCharacter(page, "exekias")]).toEqual([false, true]);
  });

  test("is nobody's question where there is one agent or none", () => {
    const alone = run(initial, welcome(), snapshot({ agents: [guide] }));

    expect([company(alone), company(visiting()), chosen(alone), isCharacter(alone, "exekias")]).toEqual([[], [], null, false]);
  });

  test("each reply keeps who said it, also when sources come before the words", () => {
    const said = run(two(), { type: "sources", seq: 4, generation: 2, sources: [] }, speak(2, 1, "exekias"), speak(3));
    const guideLines = said.lines.map((line) => line.role === "guide" && line.agent);

    expect(guideLines).toEqual(["exekias", "guide"]);
    expect(agentOf(said, "exekias")?.name).toEqual({ en: "Exekias", es: "Exequias" });
  });

  test("lines of a snapshot keep who said them", () => {
    const line = { role: "guide" as const, key: "1", text: "Clay.", state: "finished" as const, sources: [], agent: "exekias" };

    expect(currentReply(run(initial, welcome(), snapshot({ agents: [guide, exekias], lines: [line] })))?.agent).toBe("exekias");
  });

  test("is forgotten at reset", () => {
    const page = run(two(), { type: "focus", seq: 3, agent: "exekias" }, { type: "reset", seq: 4, reason: "ended" });

    expect([page.agent, page.agents]).toEqual(["guide", []]);
  });
});

test("going on with an answer is offered first, and three choices in all", () => {
  const choice = (id: string, kind: "question" | "continue" = "question") => ({ id, text: id, kind });
  const page = run(visiting(), { type: "choices", seq: 3, choices: [choice("a"), choice("b"), choice("c"), choice("go", "continue")] });

  expect(offered(page).map((one) => one.id)).toEqual(["go", "a", "b"]);
});
