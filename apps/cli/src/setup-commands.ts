import { type Command, Option } from 'commander'
import { type Done, defaultCommand, json, note, project, yes } from './command-options.ts'

/** Commands for projects, settings, keys, devices and the daemon itself. */
export function addSetupCommands(program: Command, done: Done): void {
  program.commandsGroup('Set up:')
  addProjects(program, done)
  addAgents(program, done)
  addConfig(program, done)
  addAuth(program, done)
  addDevices(program, done)
  addDaemon(program, done)
}

function addProjects(program: Command, done: Done): void {
  const projects = program.command('projects').summary('repositories that agents work on')
  const load = () => import('./commands/projects.ts')
  defaultCommand(projects, 'list')
    .summary('all of them')
    .option(...json)
    .action(async (options) => done(await (await load()).listProjects(options)))
  projects
    .command('add')
    .summary('register a repository; matrix init does more')
    .argument('<folder>', 'where it is')
    .option('--name <name>', 'what to call it')
    .option(...json)
    .action(async (folder, options) => done(await (await load()).addProject(folder, options)))
  projects
    .command('remove')
    .summary('forget a project; its data stays on disk')
    .argument('<project>', 'name, id or folder')
    .option(...yes)
    .option(...json)
    .action(async (name, options) => done(await (await load()).removeProject(name, options)))
  projects
    .command('clean')
    .summary('empty the caches that its sandboxes have filled')
    .argument('<project>', 'name, id or folder')
    .option('--all', 'everything in the home of its sandboxes, not only caches')
    .option(...yes)
    .option(...json)
    .action(async (name, options) => done(await (await import('./commands/clean.ts')).clean(name, options)))
  projects
    .command('rename')
    .summary('call it something else')
    .argument('<project>', 'name, id or folder')
    .argument('<name>', 'the new name')
    .option(...json)
    .action(async (name, to, options) => done(await (await load()).renameProject(name, to, options)))
  projects
    .command('move')
    .summary('say where the repository has gone')
    .argument('<project>', 'name or id')
    .argument('<folder>', 'where it is now')
    .option(...json)
    .action(async (name, to, options) => done(await (await load()).moveProject(name, to, options)))
}

function addAgents(program: Command, done: Done): void {
  const agent = program.command('agent').alias('agents').summary('the agents that tasks can name')
  const load = () => import('./commands/agent.ts')
  defaultCommand(agent, 'list')
    .summary('all of them, where each comes from and whether it is approved')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await load()).listAgents(options)))
  agent
    .command('add')
    .summary('read an agent file of any format, pin its servers, show what it may do, ask once, and keep it')
    .argument(
      '<file>',
      'an Agent Format, MCP client, GPARS, registry or bundle file, a manifest or a lock; - for stdin',
    )
    .addOption(new Option('--user', 'for all of your projects (the default)').conflicts('project'))
    .option('--project [project]', 'in the repository of a project, .mxd/agents; the one of this folder')
    .option('--name <name>', 'what to call it, instead of what the file says')
    .option('--skip', 'leave out servers that cannot be started, reached or verified')
    .option('--replace', 'in place of the agent of this name')
    .option(...yes)
    .option(...json)
    .addHelpText('after', note('Exits with 4 when a server is not available and --skip is not given.'))
    .action(async (file, options) => done(await (await load()).addAgent(file, options)))
}

function addConfig(program: Command, done: Done): void {
  const hosts = program.command('hosts').summary('which hosts commands in the sandbox reach')
  const loadHosts = () => import('./commands/hosts.ts')
  const everywhere = ['--global', 'for all projects, not only this one'] as const
  defaultCommand(hosts, 'list')
    .summary('the hosts, and for which projects')
    .option(...everywhere)
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await loadHosts()).listHosts(options)))
  for (const [name, summary] of [
    ['add', 'add hosts, which counts at once'],
    ['remove', 'remove hosts'],
  ] as const)
    hosts
      .command(name)
      .summary(summary)
      .argument('<hosts...>', 'such as registry.example.com, *.example.com or db.example.com:5432')
      .option(...everywhere)
      .option(...project)
      .option(...json)
      .action(async (names, options) => {
        const { addHosts, removeHosts } = await loadHosts()
        return done(await (name === 'add' ? addHosts : removeHosts)(names, options))
      })

  const skills = program.command('skills').summary('instructions that agents can read, and that can limit their tools')
  const loadSkills = () => import('./commands/skills.ts')
  defaultCommand(skills, 'list')
    .summary('the skills of your home and of the repository, and whether agents may use them')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await loadSkills()).listSkills(options)))
  skills
    .command('show')
    .summary('every file of a skill, and what has changed since you approved it')
    .argument('<name>', 'the skill')
    .option(...project)
    .option(...json)
    .action(async (name, options) => done(await (await loadSkills()).showSkill(name, options)))
  skills
    .command('approve')
    .summary('let agents use a skill as it is now')
    .argument('<name>', 'the skill')
    .option(...yes)
    .option(...project)
    .option(...json)
    .action(async (name, options) => done(await (await loadSkills()).approveSkill(name, options)))

  const config = program.command('config').summary('read and change settings')
  const load = () => import('./commands/config.ts')
  const layer = ['--layer <layer>', 'global, repo or local; by default the one that fits the setting'] as const
  defaultCommand(config, 'list')
    .summary('every setting that is in force')
    .option('--show-origin', 'and the file and line that it comes from')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await load()).listConfig(options)))
  config
    .command('get')
    .summary('one value, and nothing else')
    .argument('<key>', 'such as model or budgetUsd')
    .option(...project)
    .option(...json)
    .action(async (key, options) => done(await (await load()).getConfig(key, options)))
  config
    .command('set')
    .summary('set one value')
    .argument('<key>', 'such as model or authGroups.default.anthropicApiKey')
    .argument('[value]', 'text or JSON; asked for, and not shown, when left out')
    .option(...layer)
    .option(...project)
    .option(...json)
    .action(async (key, value, options) => done(await (await load()).setConfig(key, value, options)))
  config
    .command('unset')
    .summary('take one value out')
    .argument('<key>', 'as it was set')
    .option(...layer)
    .option(...project)
    .option(...json)
    .action(async (key, options) => done(await (await load()).unsetConfig(key, options)))
}

function addAuth(program: Command, done: Done): void {
  const auth = program.command('auth').summary('keys of model providers')
  const loadAuth = () => import('./commands/auth.ts')
  defaultCommand(auth, 'status')
    .summary('which model agents speak with, and with whose key')
    .option(...project)
    .option(...json)
    .addHelpText('after', note('Exits with 1 when agents cannot start for want of a key.'))
    .action(async (options) => done(await (await loadAuth()).authStatus(options)))
  auth
    .command('set')
    .summary('keep an API key; it is asked for, or read from standard input')
    .argument('<provider>', 'anthropic or openai')
    .option('--group <name>', 'what to call it; the provider’s name when left out')
    .option('--url <url>', 'of a gateway or a model of your own')
    .option('--no-key', 'the server at --url wants none')
    .option('--model <name>', 'the model of root agents from now on')
    .option(...json)
    .action(async (provider, options) => done(await (await loadAuth()).setKey(provider, options)))
  auth
    .command('remove')
    .summary('take a key out')
    .argument('<group>', 'what it is called')
    .option(...json)
    .action(async (group, options) => done(await (await loadAuth()).removeKey(group, options)))
}

function addDevices(program: Command, done: Done): void {
  const device = program.command('device').summary('browsers that may sign in')
  const loadDevice = () => import('./commands/device.ts')
  device
    .command('add')
    .summary('let a browser in: prints a code, then asks whether the fingerprint is right')
    .option(...json)
    .action(async (options) => done(await (await loadDevice()).addDevice(options)))
  defaultCommand(device, 'list')
    .summary('all of them')
    .option(...json)
    .action(async (options) => done(await (await loadDevice()).listDevices(options)))
  device
    .command('revoke')
    .summary('sign one out for good')
    .argument('<device>', 'its name, or the first characters of its id')
    .option(...yes)
    .option(...json)
    .action(async (name, options) => done(await (await loadDevice()).revokeDevice(name, options)))
}

function addDaemon(program: Command, done: Done): void {
  const daemon = program.command('daemon').summary('start and stop the process that keeps agents alive')
  const load = () => import('./commands/daemon.ts')
  const startable = (name: string, summary: string) =>
    daemon
      .command(name)
      .summary(summary)
      .option('--port <port>', 'instead of what the settings say')
      .option('--demo', 'with a sample project, played without a model, while there is no other and no key')
      .option(...json)
  startable('start', 'start it, and wait until it is ready')
    .option('--foreground', 'stay here and show what it says')
    .action(async (options) => done(await (await load()).start(options)))
  daemon
    .command('stop')
    .summary('end it; agents go on where they were at the next start')
    .option('--force', 'at once; nothing is lost by it')
    .option(...json)
    .action(async (options) => done(await (await load()).stop(options)))
  startable('restart', 'end it and start it again').action(async (options) =>
    done(await (await load()).restart(options)),
  )
  defaultCommand(daemon, 'status')
    .summary('whether it runs, where, and on what')
    .option(...json)
    .addHelpText('after', note('Exits with 4 when it does not run.'))
    .action(async (options) => done(await (await load()).status(options)))
  daemon
    .command('logs')
    .summary('what it wrote down')
    .option('-n, --last <count>', 'how many lines', '50')
    .option('-f, --follow', 'go on with what comes')
    .option('--json', 'the entries themselves, one per line')
    .action(async (options) => done(await (await import('./commands/daemon-logs.ts')).logs(options)))
  daemon
    .command('install')
    .summary('have the system start it when you sign in (systemd, launchd)')
    .addOption(
      new Option('--print [system]', 'only show the file; that of systemd or launchd, wherever this is').choices([
        'systemd',
        'launchd',
      ]),
    )
    .option(...json)
    .action(async (options) => done(await (await import('./commands/daemon-install.ts')).install(options)))
}
