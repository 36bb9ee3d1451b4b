import type { Client } from '@matrix/client'
import { printableLine } from '@matrix/protocol'
import type { ProjectView, SetupChoice, SetupView } from '@matrix/protocol/http'
import { findCheckout } from '../checkout.ts'
import { runningDaemon, startDaemon } from '../daemon-process.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { ensureProvider, type FoundProvider, type ProviderFlags } from '../init-provider.ts'
import { connect } from '../place.ts'
import { type Chosen, chooseSetup, type SetupFlags, showScript } from '../setup-choice.ts'
import { colorsFor, print, printError, printJson } from '../terminal.ts'

type InitOptions = ProviderFlags &
  SetupFlags & { name?: string; hosts?: string | boolean; daemon?: boolean; port?: string; json?: boolean }

/** Everything between a clone and the first message: model, daemon, project, setup. What is there already stays as it is. */
export async function init(folder: string, options: InitOptions): Promise<ExitCode> {
  const checkout = await findCheckout(folder)
  const provider = await ensureProvider(options)
  const isStarted = await ensureDaemon(options)
  const client = await connect()
  const { project, isNew } = await ensureProject(client, checkout, options)
  const before = await client.getSetup({ projectId: project.id })
  const status = await client.getStatus()
  const hasModel = status.provider.kind === 'configured'
  const { findIdentity } = await import('@matrix/task-tree')
  const identity = await findIdentity(checkout).catch(() => null)
  if (!options.json) printError(tellFound(project, { isNew, isStarted, view: before, provider, hasModel }))

  const chosen = await chooseSetup(before, options)
  if (options.yes && chosen.kind === 'new' && !options.json)
    printError(showScript(before, scriptOf(chosen.choice), filesOf(chosen.choice)))
  const projectId = project.id
  const setup = chosen.kind === 'new' ? await client.decideSetup({ projectId, body: chosen.choice }) : before
  const hosts = chosen.kind === 'open' ? [] : await allowHosts(client, projectId, before, options)
  const view = { project, isNew, daemon: { isStarted }, provider: status.provider, setup, hosts, identity }
  if (options.json) printJson(view)
  else if (chosen.kind === 'open') printError(tellOpen(before))
  else
    print(
      tellNext(chosen, {
        setup,
        hosts,
        hasModel,
        hasIdentity: identity !== null,
        isShellOnly: provider.isConfigured && !hasModel,
      }),
    )
  if (chosen.kind === 'open') return exitCode.usage
  return hasModel && identity !== null ? exitCode.ok : exitCode.findings
}

function scriptOf(choice: SetupChoice): string | null {
  return choice.choice === 'script' ? choice.script : null
}

function filesOf(choice: SetupChoice): string[] {
  return choice.choice === 'script' ? (choice.files ?? []) : []
}

async function ensureDaemon({ daemon = true, port }: InitOptions): Promise<boolean> {
  if (!daemon || (await runningDaemon())) return false
  await startDaemon(port === undefined ? [] : ['--port', port])
  return true
}

/** What was wrong with a project may have been put right since the daemon looked. */
async function ensureProject(
  client: Client,
  checkout: string,
  { name }: InitOptions,
): Promise<{ project: ProjectView; isNew: boolean }> {
  const known = (await client.listProjects()).find(({ path }) => path === checkout)
  if (!known) {
    const body = { path: checkout, ...(name ? { name } : {}) }
    return { project: await client.registerProject({ body }), isNew: true }
  }
  const project = known.problem ? await client.updateProject({ projectId: known.id, body: {} }) : known
  return { project, isNew: false }
}

/** The hosts that were shown with the setup, or those of --hosts. They add to what is allowed already. */
async function allowHosts(
  client: Client,
  projectId: string,
  { hosts }: SetupView,
  options: InitOptions,
): Promise<string[]> {
  if (options.hosts === false) return []
  const wanted =
    typeof options.hosts === 'string'
      ? options.hosts.split(',').map((host) => host.trim())
      : hosts.map(({ host }) => host)
  const { entries } = await client.readConfig({ projectId })
  const known = entries.find(({ key, origin }) => key === 'hosts' && origin === 'local')?.value
  const before = Array.isArray(known) ? known.map(String) : []
  const value = [...new Set([...before, ...wanted])].filter(Boolean)
  if (value.length > before.length) await client.setConfig({ layer: 'local', key: 'hosts', projectId, body: { value } })
  return value
}

type Found = { isNew: boolean; isStarted: boolean; view: SetupView; provider: FoundProvider; hasModel: boolean }

function tellFound(project: ProjectView, { isNew, isStarted, view, provider, hasModel }: Found): string {
  const { bold, green, yellow, red } = colorsFor(process.stderr)
  const { detected, instructions } = view
  const done = green('✔')
  const found = [
    detected.languages.join(', '),
    detected.found
      .map(({ ecosystem, because, folder }) => `${ecosystem} (${folder ? `${folder}/` : ''}${because})`)
      .join(', '),
    detected.testCommand === null ? '' : `tests: ${detected.testCommand}`,
  ].filter(Boolean)
  return [
    hasModel
      ? `${done} Model    ${provider.kept === null ? 'configured' : `configured, kept as ${provider.kept}`}`
      : `${red('✘')} Model    not configured: matrix auth set anthropic`,
    `${done} Daemon   ${isStarted ? 'started' : 'runs'}`,
    `${done} Project  ${bold(printableLine(project.name))}, ${isNew ? 'added' : 'known'}; work starts from ${printableLine(project.baseBranch ?? '?')}`,
    ...(found.length > 0 ? [`  Found    ${printableLine(found.join(' · '))}`] : []),
    ...(instructions.length > 0 ? [`  Reads    ${instructions.join(', ')}`] : []),
    ...(project.problem
      ? [yellow(`  ${printableLine(project.problem.message)}`), `  ${printableLine(project.problem.hint)}`]
      : []),
  ].join('\n')
}

/** What would be asked, and how a script answers it. */
function tellOpen(view: SetupView): string {
  const { yellow } = colorsFor(process.stderr)
  return [
    showScript(view, view.proposal.script),
    '',
    yellow('The setup is not decided: no terminal to ask on.'),
    '  --yes           take what is proposed',
    '  --setup none    nothing is needed',
    '  --setup <file>  run this script instead',
    '  --setup-files <paths>  what the script may read of your checkout, if not what it names',
  ].join('\n')
}

type Outcome = {
  setup: SetupView
  hosts: readonly string[]
  hasModel: boolean
  hasIdentity: boolean
  isShellOnly: boolean
}

function tellNext(chosen: Chosen, { setup, hosts, hasModel, hasIdentity, isShellOnly }: Outcome): string {
  const { green, bold, yellow } = colorsFor(process.stdout)
  const { decision } = setup
  const what = decision?.choice === 'script' ? 'the script runs in every new worktree' : 'nothing is needed'
  return [
    `${green('✔')} Setup    ${what}${chosen.kind === 'kept' ? ', as decided before' : ''}`,
    ...(hosts.length > 0 ? [`${green('✔')} Hosts    ${hosts.map(printableLine).join(', ')}`] : []),
    ...(hasIdentity
      ? []
      : [
          yellow('git does not know who you are, so agents cannot commit:'),
          '  git config --global user.name "Your Name"',
          '  git config --global user.email you@example.com',
        ]),
    ...(isShellOnly ? [yellow('The daemon does not have the key of this shell: matrix daemon restart')] : []),
    '',
    'Next:',
    ...(hasModel || isShellOnly ? [] : ['  matrix auth set anthropic']),
    `  ${bold('matrix send root "what you want done"')}`,
  ].join('\n')
}
