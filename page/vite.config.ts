import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Set it to the address of a running server to develop against that server.
const server = process.env.MATINS_SERVER ?? "http://127.0.0.1:7347";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2023",
    // The content security policy of the server allows no `data:` scripts and no inline styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Otherwise each part that the lazy views share with the first view is one more file of the first load.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } } },
    sourcemap: false,
    // The server shows the licences of the packages, because it passes the packages on.
    license: { fileName: "licences.md" },
    chunkSizeWarningLimit: 700,
  },
  worker: { format: "es" },
  server: {
    host: "127.0.0.1",
    proxy: {
      "^/(api|sign-in)": {
        target: server,
        changeOrigin: true,
        // The server accepts requests of its own origin alone.
        headers: { origin: server },
      },
    },
  },
  // A test hangs if it takes a minute. No shorter limit, because a busy machine makes any test slow.
  test: { include: ["src/**/*.test.ts"], testTimeout: 60_000, hookTimeout: 60_000 },
});
