/** Whether the host name of a parsed URL is this machine; `127.example.com` is somebody else's. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}
