// Proof of work for the two who watch the page: frames counted while visible, sent every three seconds.

const EVERY_MS = 3000;

export function startPulse(beat: (frames: number, tick: number) => void): () => void {
  let frames = 0;
  let tick = 0;
  let request = requestAnimationFrame(count);
  function count(): void {
    if (document.visibilityState === "visible") frames += 1;
    request = requestAnimationFrame(count);
  }
  const timer = setInterval(() => beat(frames, (tick += 1)), EVERY_MS);
  return () => {
    cancelAnimationFrame(request);
    clearInterval(timer);
  };
}
