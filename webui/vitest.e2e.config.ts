import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.e2e.ts"],
    environment: "node",
    // One browser at a time: the kiosk's machine is small, and so are ours.
    fileParallelism: false,
    testTimeout: 40_000,
    hookTimeout: 60_000,
  },
});
