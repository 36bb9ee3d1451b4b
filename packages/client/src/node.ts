export { connectLocal, findDaemon } from './local-daemon.ts'
export { createLocalFetch } from './local-fetch.ts'
