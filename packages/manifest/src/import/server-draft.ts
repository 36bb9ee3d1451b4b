import type { Problem } from '../document/finding.ts'
import { findInjectedCode, type Injection } from '../manifest/injected-code.ts'
import { type Launcher, parseLauncher } from '../manifest/launcher.ts'
import { injectionProblem } from '../manifest/manifest-check.ts'
import { DIGEST_SHAPE, isExactVersion } from '../manifest/tool-uri.ts'
import { screenEndpoint } from './endpoint-screen.ts'
import {
  type FoundLaunch,
  type FoundServer,
  type HttpDraft,
  type Piece,
  type ServerDraft,
  type StdioDraft,
  UNKNOWN_DIGEST,
  UNPINNED,
} from './manifest-draft.ts'
import { type Screen, screenArguments, screenHeader, screenText, screenVariable } from './secret-screen.ts'

/** One server of a draft, with everything that is still to be done for it said in the screen's problems. */
export function draftServer(found: FoundServer, screen: Screen): ServerDraft {
  const { launch } = found
  const draft = launch.transport === 'stdio' ? draftStdio(found, launch, screen) : draftHttp(found, launch, screen)
  if (draft.alias !== found.name && !found.name.endsWith(`/${draft.alias}`))
    screen.problems.push({
      rule: 'MX029',
      path: found.path,
      at: 'key',
      message: `${JSON.stringify(found.name)} is called "${draft.alias}" in the draft, since aliases are part of tool URIs.`,
      fix: 'Choose another alias in the draft if you like.',
    })
  screen.problems.push(unfinished(draft, found))
  return draft
}

type Of<Transport> = Extract<FoundLaunch, { transport: Transport }>

function draftStdio(found: FoundServer, launch: Of<'stdio'>, screen: Screen): StdioDraft {
  const command = screenText('command', launch.command, screen)
  const args = screenArguments(launch.args, screen)
  if (command.includes('$env:'))
    screen.problems.push({
      rule: 'MX029',
      path: launch.command.path,
      message: `What "${screen.alias}" starts depends on the environment, but a manifest names the program.`,
      fix: 'Write the program into the command.',
    })
  const launcher = parseLauncher(command, args)
  const env = launch.env.map((variable) => ({ name: variable.name, value: screenVariable(variable, screen) }))
  for (const each of findInjectedCode({ command, args, env }))
    screen.problems.push(injectionProblem(screen.alias, each, pieceOf(launch, each)?.path ?? found.path))
  return {
    alias: screen.alias,
    transport: 'stdio',
    command,
    args,
    env: env.map(({ name, value }) => `${name}=${value}`),
    package_digest: digestOf(found, launcher),
    version: versionOf(found, launcher),
    tools: found.tools ?? [],
  }
}

function pieceOf({ command, args, env }: Of<'stdio'>, { field, step }: Injection): Piece | undefined {
  if (field === 'env') return env.find(({ name }) => name === step)
  return field === 'args' ? args[Number(step)] : command
}

function draftHttp(found: FoundServer, launch: Of<'http'>, screen: Screen): HttpDraft {
  const { endpoint, authorization } = screenEndpoint(launch.endpoint, screen)
  const headers = Object.fromEntries(launch.headers.map((header) => [header.name, screenHeader(header, screen)]))
  const isAuthorized = launch.headers.some(({ name }) => name.toLowerCase() === 'authorization')
  return {
    alias: screen.alias,
    transport: 'http',
    endpoint,
    headers: { ...headers, ...(authorization && !isAuthorized && { Authorization: authorization }) },
    version: versionOf(found, undefined),
    tools: found.tools ?? [],
  }
}

/** What the launcher would really fetch comes before what the file says about itself. */
function versionOf({ version = '' }: FoundServer, launcher: Launcher | undefined): string {
  const isFetched = launcher?.kind === 'package' && !DIGEST_SHAPE.test(launcher.version ?? '')
  const known = isFetched ? (launcher.version ?? '') : version
  return isExactVersion(known) ? known : UNPINNED
}

/** The digest of an image is the digest of the package. */
function digestOf({ package_digest: digest }: FoundServer, launcher: Launcher): string {
  const pin = launcher.kind === 'package' ? launcher.version : undefined
  return digest ?? (pin && DIGEST_SHAPE.test(pin) ? pin : UNKNOWN_DIGEST)
}

function unfinished(draft: ServerDraft, { path }: FoundServer): Problem {
  const lacks = [
    draft.version === UNPINNED && 'its exact version',
    draft.transport === 'stdio' && draft.package_digest === UNKNOWN_DIGEST && 'the digest of its package',
    draft.tools.length === 0 && 'its tools',
    'the side effect class of each tool',
  ].filter(Boolean)
  const last = lacks.pop()
  return {
    rule: 'MX029',
    path,
    at: 'key',
    message: `"${draft.alias}" still lacks ${lacks.length > 0 ? `${lacks.join(', ')} and ` : ''}${last}.`,
    fix: 'Run `matrix lock` on the draft: it pins the version, hashes the package and lists the tools; then confirm each class.',
  }
}
