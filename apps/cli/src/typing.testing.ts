import { spawn } from 'node:child_process'

/** A line that is typed once the screen shows what it waits for. */
export type Typed = { after: RegExp; keys: string }

export type Screen = { code: number | null; text: string }

// Python has pseudo-terminals in its standard library, and no package of ours needs one otherwise.
const terminal = `
import json, os, pty, re, signal, sys
typed = json.loads(sys.argv[1]); command = sys.argv[2:]
signal.alarm(90)
pid, fd = pty.fork()
if pid == 0: signal.alarm(0); os.execvp(command[0], command)
import fcntl, struct, termios
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 80, 0, 0))
seen = b''; start = 0
while True:
    try: data = os.read(fd, 65536)
    except OSError: break
    if not data: break
    seen += data; sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
    shown = re.sub(r'\\x1b\\[[0-9;?]*[A-Za-z]', '', seen[start:].decode('utf8', 'replace'))
    if typed and re.search(typed[0]['after'], shown):
        start = len(seen); os.write(fd, typed.pop(0)['keys'].encode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

/** Runs a command in a real terminal of 80 columns, and types into it as a user would. */
export function typeInto(
  command: string[],
  typed: Typed[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<Screen> {
  const keys = JSON.stringify(typed.map(({ after, keys }) => ({ after: after.source, keys })))
  const child = spawn('python3', ['-c', terminal, keys, ...command], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ code, text })))
}
