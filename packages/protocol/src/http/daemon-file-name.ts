/** Where `DaemonFile` is, in the data directory. By itself, so that finding the daemon loads no schemas. */
export const daemonFileName = 'daemon.json'
