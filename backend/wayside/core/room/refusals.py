"""Every refusal of the room and of runs: its stable code and what it means. Nothing else refuses in their name."""

from wayside.core.errors import WaysideError

REFUSALS: dict[str, str] = {
    # registry
    "room.agent_exists": "An agent of this id is registered; replace it on purpose.",
    "room.unknown_agent": "No agent of this id is in the room.",
    "room.manifest_mismatch": "The agent's manifest belongs to another game or version.",
    "room.driver_missing": "A driver must answer with respond, run or both.",
    "room.speaker_absent": "The speaker is not present in the room.",
    "room.agent_replaced": "The agent was replaced or left while it was answering.",
    "room.decision_malformed": "The driver's decision is not one that can be used.",
    "room.action_unbound": "An agent without a binding can not propose an action.",
    "room.action_seat": "The action names a seat that is not this agent's.",
    # interactions
    "room.disclosure_missing": "Every input must say who may see it.",
    "room.disclosure_malformed": "A disclosure is the room, or a list of participants.",
    "room.disclosure_widened": "An interaction can only narrow who may see it.",
    "room.no_target": "An interaction must name whom it is for.",
    "room.unknown_target": "An interaction names a target that is not in the room.",
    "room.undisclosed_target": "A target may not see what is addressed to it.",
    "room.source_spoofed": "The source of an interaction must be one that received its parent.",
    "room.private_chain": "A private exchange can not take in a new agent or watcher.",
    "room.too_many_hops": "This exchange has gone on for too many hops.",
    "room.emission_budget": "This exchange has produced too many interactions.",
    "room.payload_malformed": "A payload must be plain JSON of a known type.",
    "room.lane_full": "Too many interactions are waiting on this channel.",
    "room.recursive_dispatch": "A delivery can not wait for another one; it must return a draft.",
    "room.delivery_failed": "A target did not take what was delivered to it.",
    "room.state_malformed": "What was kept of the room can not be read.",
    "room.envelope_mismatch": "This envelope id was used for something else.",
    # services, watchers, votes
    "room.service_unknown": "There is no such service.",
    "room.service_denied": "The agent may not call this service.",
    "room.service_call_mismatch": "This call id was used with other input or in another private exchange.",
    "room.service_failed": "The service did not answer.",
    "room.watcher_failed": "A watcher failed; the revision can be raised again.",
    "room.vote_ineligible": "A ballot comes from somebody who may not vote.",
    "room.vote_duplicate": "Somebody voted twice.",
    "room.vote_unknown_option": "A ballot names an option that is not up for vote.",
    "room.vote_tie_order": "The tie order must name each option exactly once.",
    # routing
    "room.unroutable": "No agent is there to answer this.",
    "room.several_targets": "This call answers for one agent; the input is addressed to several.",
    "room.closed": "The room is closing; nothing is begun in it any more.",
    # runs
    "run.input_mismatch": "This input id was used for another input.",
    "run.input_malformed": "An input must be whole Unicode text.",
    "run.unknown": "There is no such run.",
    "run.stale_transition": "The run has moved on.",
    "run.event_mismatch": "This event id was used for another event.",
    "run.open_exists": "This agent already has an open run on this channel.",
    "run.continuation_mismatch": "The answer does not belong to the run that waits for one.",
    "run.supersession_mismatch": "The run to replace is not the one that is active here.",
    "run.supersession_and_continuation": "An input either continues a run or replaces one.",
    "run.checkpoint_malformed": "A checkpoint must be plain JSON.",
    "run.merge_bound": "The bound of an appended input must be a positive whole number.",
    "run.not_recoverable": "The run is over; there is nothing to resume.",
    "run.delay_malformed": "Progress delays must be whole milliseconds, none negative.",
    # store
    "store.locked": "The database is in use and did not answer in time.",
    "store.full": "There is no room left for the database.",
    "store.read_only": "The database can not be written.",
    "store.corrupt": "The database is damaged.",
    "store.newer": "The database was written by a newer version.",
    "store.gone": "The database was taken away or cut short while it was in use.",
    "store.failed": "The database does not work.",
    "store.not_text": "Only whole Unicode text can be kept.",
    "store.closed": "The database is closed.",
    # experience
    "experience.not_in_room": "There is no room to share an experience with.",
    "experience.not_enabled": "This agent's profile does not take in experience.",
    "experience.malformed": "An experience is text in its four fields and nothing else.",
    "experience.busy": "More experience is waiting than can be taken in.",
    "experience.empty": "An experience must say something.",
    "experience.too_long": "A field of the experience is longer than its bound.",
}


def refuse(code: str, *, retryable: bool = False) -> WaysideError:
    """The error of a refusal; `code` must be listed above."""
    return WaysideError(code, REFUSALS[code], retryable=retryable)
