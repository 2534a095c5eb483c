// The way in for staff: three seconds in the top right corner, which shows nothing.

export const CORNER_PX = 110;
export const HOLD_MS = 3000;
const WANDER_PX = 60;

export function watchCorner(open: () => void): () => void {
  let from: { id: number; x: number; y: number } | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function give(): void {
    clearTimeout(timer);
    from = null;
  }

  function down(event: PointerEvent): void {
    give();
    if (!event.isPrimary || event.clientX < innerWidth - CORNER_PX || event.clientY > CORNER_PX) return;
    from = { id: event.pointerId, x: event.clientX, y: event.clientY };
    timer = setTimeout(() => {
      give();
      open();
    }, HOLD_MS);
  }

  function move(event: PointerEvent): void {
    if (from === null || event.pointerId !== from.id) return;
    if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > WANDER_PX) give();
  }

  window.addEventListener("pointerdown", down, true);
  window.addEventListener("pointermove", move, true);
  window.addEventListener("pointerup", give, true);
  window.addEventListener("pointercancel", give, true);
  return () => {
    give();
    window.removeEventListener("pointerdown", down, true);
    window.removeEventListener("pointermove", move, true);
    window.removeEventListener("pointerup", give, true);
    window.removeEventListener("pointercancel", give, true);
  };
}
