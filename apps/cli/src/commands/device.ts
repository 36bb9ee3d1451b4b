import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@matrix/client'
import { MatrixError, printableLine } from '@matrix/protocol'
import { formatDuration } from '@matrix/protocol/display'
import type { DeviceView } from '@matrix/protocol/http'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { InterruptedError, interruptSignal } from '../interrupt.ts'
import { connect } from '../place.ts'
import { confirm } from '../prompt.ts'
import { formatTable } from '../table.ts'
import { colorsFor, print, printError, printJson, printJsonLine, terminalWidth } from '../terminal.ts'

type Options = { json?: boolean }

const LOOK_EVERY_MS = 500

/** Lets one browser in: it enters the code, and the person here says whether its fingerprint is the right one. */
export async function addDevice(options: Options): Promise<ExitCode> {
  const client = await connect()
  const signal = interruptSignal()
  const before = new Set((await client.listDevices()).map(({ id }) => id))
  const { code, expiresAt } = await client.openEnrolment()
  const url = await daemonUrl()
  if (options.json) printJsonLine({ code, expiresAt, url })
  else tellCode(code, url, expiresAt)

  const device = await waitForDevice(client, before, { expiresAt, signal })
  const fingerprint = formatFingerprint(device.id)
  if (options.json) printJsonLine(device)
  else print(`\n“${printableLine(device.name)}” wants in. Its fingerprint is\n\n  ${fingerprint}\n`)
  const isRight = await confirm('Does the browser show the same?', {}).catch(async (error) => {
    await client.revokeDevice({ deviceId: device.id })
    throw error
  })
  if (!isRight) {
    await client.revokeDevice({ deviceId: device.id })
    printError('Refused. Somebody else may have the code: add the device again, in private.')
    return exitCode.findings
  }
  const enrolled = await client.confirmDevice({ deviceId: device.id })
  if (options.json) printJsonLine(enrolled)
  else print(`“${printableLine(enrolled.name)}” may sign in from now on.`)
  return exitCode.ok
}

async function daemonUrl(): Promise<string> {
  const daemon = await (await import('@matrix/client/node')).findDaemon(dataFolder())
  return daemon?.url ?? 'http://127.0.0.1:7433'
}

function tellCode(code: string, url: string, expiresAt: string): void {
  const { bold, dim } = colorsFor(process.stdout)
  print(`Open ${bold(url)} in the browser and enter\n\n  ${bold(code)}\n`)
  print(dim(`The code works once, for ${formatDuration(Date.parse(expiresAt) - Date.now())}. Waiting …`))
}

async function waitForDevice(
  client: Client,
  before: ReadonlySet<string>,
  { expiresAt, signal }: { expiresAt: string; signal: AbortSignal },
): Promise<DeviceView> {
  while (Date.now() < Date.parse(expiresAt)) {
    const device = (await client.listDevices()).find(({ id, state }) => state === 'waiting' && !before.has(id))
    if (device) return device
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {
      throw new InterruptedError('No device was added.')
    })
  }
  throw new MatrixError('AUTH_FAILED', 'Nobody entered the code in time.', { hint: 'Run matrix device add again.' })
}

/** In groups that can be compared by eye. */
function formatFingerprint(id: string): string {
  return (
    printableLine(id)
      .slice(0, 32)
      .match(/.{1,4}/g) ?? []
  ).join(' ')
}

export async function listDevices({ json }: Options): Promise<ExitCode> {
  const devices = await (await connect()).listDevices()
  if (json) printJson(devices)
  else if (devices.length === 0) print('No device is enrolled. Add one with matrix device add.')
  else {
    const rows = devices.map((one) => [
      printableLine(one.name),
      one.id.slice(0, 16),
      one.state,
      one.enrolledAt?.slice(0, 10) ?? '',
      one.lastSeenAt ? `${formatDuration(Date.now() - Date.parse(one.lastSeenAt))} ago` : 'never',
    ])
    const columns = ['device', 'id', 'state', 'since', 'last seen'].map((heading) => ({ heading }))
    print(formatTable(columns, rows, terminalWidth()).join('\n'))
  }
  return exitCode.ok
}

export async function revokeDevice(name: string, { json, yes }: Options & { yes?: boolean }): Promise<ExitCode> {
  const client = await connect()
  const devices = await client.listDevices()
  const found = devices.filter((one) => one.name === name || (name.length >= 4 && one.id.startsWith(name)))
  const [device, ...others] = found
  if (!device || others.length > 0)
    throw new MatrixError(
      'REQUEST_INVALID',
      device
        ? `${found.length} devices are called ${printableLine(name)}.`
        : `No device is called ${printableLine(name)}.`,
      { hint: 'matrix device list shows their ids.' },
    )
  if (!(await confirm(`Sign “${printableLine(device.name)}” out for good?`, { yes }))) return exitCode.findings
  await client.revokeDevice({ deviceId: device.id })
  if (json) printJson(device)
  else print(`“${printableLine(device.name)}” is signed out.`)
  return exitCode.ok
}
