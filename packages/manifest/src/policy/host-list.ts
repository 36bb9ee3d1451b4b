const shape = /^(?:\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])$/i

/** Whether a host is one of the entries: by its name, as a subdomain of `*.name`, or any for `*`. */
export function matchesHostList(hosts: readonly string[], host: string): boolean {
  const name = normalHost(host)
  return hosts.some((entry) => {
    const pattern = normalHost(entry)
    return isReadableHost(entry) && (pattern === '*' || pattern === name || isBelow(pattern, name))
  })
}

/** Also when an entry cannot be read, such as a URL: it was meant to keep something out. */
export function isHostDenied(hosts: readonly string[], host: string): boolean {
  return hosts.some((entry) => !isReadableHost(entry)) || matchesHostList(hosts, host)
}

export function isReadableHost(entry: string): boolean {
  return shape.test(normalHost(entry))
}

function isBelow(pattern: string, name: string): boolean {
  return pattern.startsWith('*.') && name.endsWith(pattern.slice(1)) && name.length >= pattern.length
}

/** A trailing dot only says that a name is complete. */
function normalHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}
