import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const daemon = process.env.MATRIX_DAEMON_URL ?? 'http://127.0.0.1:7433'

export default defineConfig({
  plugins: [react(), tailwind()],
  build: {
    target: 'es2023',
    // The daemon's policy allows no data: scripts or styles, and every asset is immutable under its hash.
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // What every view stands on, in one request instead of a dozen small ones.
        codeSplitting: {
          groups: [
            { name: 'base', test: /node_modules\/(react|react-dom|scheduler|zustand|@tanstack\/(?!.*virtual)[^/]*)\// },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': daemon, '/health': daemon, '/ready': daemon } },
})
