import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { MatrixError } from '@matrix/protocol'
import { findDaemonProgram } from '../daemon-process.ts'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { print, printJson } from '../terminal.ts'

type InstallOptions = { print?: boolean | keyof typeof services; json?: boolean }
type Service = { file: string; text: string; enable: string; remove: string }

const LABEL = 'dev.matrix.daemon'

/** Writes what the system needs to start the daemon when its user signs in. Nothing is enabled before that user says so. */
export async function install(options: InstallOptions): Promise<ExitCode> {
  const service = await serviceFor(typeof options.print === 'string' ? options.print : systemHere())
  if (options.print) {
    print(service.text)
    return exitCode.ok
  }
  await mkdir(dirname(service.file), { recursive: true })
  const isNew = (await readFile(service.file, 'utf8').catch(() => '')) !== service.text
  if (isNew) await writeFile(service.file, service.text, { mode: 0o644 })
  if (options.json) printJson({ ...service, isNew })
  else
    print(
      [
        `${isNew ? 'Wrote' : 'Nothing to change in'} ${service.file}`,
        '',
        'Switch it on with:',
        `  ${service.enable}`,
        'and off again with:',
        `  ${service.remove}`,
      ].join('\n'),
    )
  return exitCode.ok
}

const services = { systemd: systemdUnit, launchd: launchdAgent }

function systemHere(): keyof typeof services | undefined {
  if (process.platform === 'linux') return 'systemd'
  return process.platform === 'darwin' ? 'launchd' : undefined
}

async function serviceFor(system: keyof typeof services | undefined): Promise<Service> {
  const command = [process.execPath, await findDaemonProgram()]
  if (system) return services[system](command)
  throw new MatrixError('REQUEST_INVALID', `There is no service for ${process.platform} yet.`, {
    hint: `Have your system run: ${command.join(' ')}`,
  })
}

function systemdUnit(command: readonly string[]): Service {
  const folder = process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config')
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`
  return {
    file: join(folder, 'systemd', 'user', 'matrix.service'),
    enable: 'systemctl --user daemon-reload && systemctl --user enable --now matrix',
    remove: 'systemctl --user disable --now matrix',
    text: `[Unit]
Description=Matrix: coding agents on your repositories
After=network-online.target

[Service]
ExecStart=${command.map((part) => quoted(part).replaceAll('$', '$$$$')).join(' ')}
Environment=${quoted(`MXD_DATA_DIR=${dataFolder()}`)}
Environment=${quoted(`PATH=${process.env.PATH ?? ''}`)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=15

[Install]
WantedBy=default.target
`,
  }
}

function launchdAgent(command: readonly string[]): Service {
  const file = join(homedir(), 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const string = (text: string) =>
    `<string>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</string>`
  return {
    file,
    enable: `launchctl bootstrap gui/$(id -u) '${file}'`,
    remove: `launchctl bootout gui/$(id -u)/${LABEL}`,
    text: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(LABEL)}
  <key>ProgramArguments</key>
  <array>${command.map(string).join('')}</array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>MXD_DATA_DIR</key>${string(dataFolder())}
    <key>PATH</key>${string(process.env.PATH ?? '')}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`,
  }
}
