import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { addAgentCommands } from './agent-commands.ts'
import { commandExamples } from './command-examples.ts'
import { type Done, json, note, project, taskArgument } from './command-options.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { watchReader } from './reader.ts'
import { addSetupCommands } from './setup-commands.ts'

/** Runs one command line to its exit code; nothing here throws, and nothing but the outcome decides the code. */
export async function runCommand(args: string[]): Promise<ExitCode> {
  watchReader()
  let outcome: ExitCode = exitCode.ok
  const program = buildProgram((code) => {
    outcome = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return outcome
  } catch (error) {
    const json = args.includes('--json')
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.ok : explainUsage(error, json)
    const { explainFailure } = await import('./failure.ts')
    return explainFailure(error, { json })
  }
}

/** A person has been told by the parser already; a program reads JSON, whatever was wrong. */
async function explainUsage({ message }: CommanderError, json: boolean): Promise<ExitCode> {
  if (!json) return exitCode.usage
  const [what = '', ...hints] = message.replace(/^error: /, '').split('\n')
  const { printJson } = await import('./terminal.ts')
  const hint = hints.join(' ').replace(/[()]/g, '') || 'The --help of the command says what it takes.'
  printJson({ error: { code: 'REQUEST_INVALID', message: what, hint } })
  return exitCode.usage
}

function parseAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new InvalidArgumentError('Write an address that begins with https://.')
}

const overview = `
Examples:
  $ matrix init
  $ matrix send root "Make the tests pass on Windows" && matrix tree --watch
  $ matrix diff root && matrix merge root --update-checkout
  $ matrix verify agents/default.json
  $ matrix lock .mcp.json --out agents/mine.lock.json
  $ matrix call list_files -m agents/neo.json --args '{"pattern": "*.md"}'

Exit codes:
  0 ok · 1 findings · 2 usage or unreadable file · 3 tool error
  4 could not verify or reach · 5 budget used up · 124 timed out
  130 interrupted`

export function buildProgram(done: (code: ExitCode) => void): Command {
  const program = new Command('matrix')
    .description('Runs a tree of coding agents on a repository, says exactly what each can do, and proves it.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpText('after', overview)
    .showHelpAfterError('(matrix --help lists what there is)')
    .configureHelp({ subcommandTerm: (command) => command.name(), visibleCommands: ({ commands }) => [...commands] })
    .exitOverride()

  addAgentCommands(program, done)
  addSetupCommands(program, done)

  program.commandsGroup('Say what an agent can do, and prove it:')
  program
    .command('verify')
    .summary('check manifests: every finding with its line, reason and fix')
    .description(
      'Check manifests, locks, Agent Format and GPARS files and skills. Directories are searched for them, but for node_modules, .git, dist and fixtures. Every server of a manifest or lock is fetched, verified, started in a box and held against what is declared of it, unless --offline says that reading is enough.',
    )
    .argument('<path...>', 'files, directories, quoted globs, or - for standard input')
    .option('--offline', 'static check only: start no server, fetch nothing')
    .option('--strict', 'treat warnings as errors')
    .addOption(
      new Option('--bootstrap', 'accept placeholder digests and unpinned launchers, with a warning').conflicts(
        'strict',
      ),
    )
    .option('--check-env', 'also check that every $env:NAME is set in this environment')
    .option('--unsandboxed', 'start servers even where they cannot be boxed')
    .option('--manifest <file>', 'hold the tool URIs of skills against this manifest')
    .option('--json', 'print one JSON document for programs')
    .addOption(new Option('--sarif', 'print SARIF 2.1.0 for code scanning').conflicts(['json', 'github']))
    .addOption(
      new Option('--help-uri <address>', 'with --sarif: where the pages of docs/rules can be read').argParser(
        parseAddress,
      ),
    )
    .addOption(new Option('--github', 'print GitHub workflow annotations').conflicts('json'))
    .action(async (paths, options) => done(await (await import('./commands/verify.ts')).verify(paths, options)))

  program
    .command('lock')
    .summary('pin everything an agent uses: bytes, tools and their definitions')
    .description(
      'Resolve every server of an agent in any format, start it once in a box, and write down what it is: version, digests, every tool with its whole definition. Classes that nobody has given are proposed with the reason, and a person agrees.',
    )
    .argument('<file>', 'a manifest, lock, Agent Format, GPARS, MCP client, registry or bundle file')
    .option('-o, --out <file>', 'write the lock there; <file>.lock.json when left out')
    .option('-y, --yes', 'agree to what is proposed')
    .option('--agent <name>', 'what to call the agent')
    .option('--catalog <file>', 'where the registry ids of a GPARS manifest are resolved')
    .option(
      '--keeps-state <alias...>',
      'run this server as one process that every class of its tools shares, because it keeps state between calls',
    )
    .option('--skip', 'leave out servers that cannot be started, reached or verified')
    .option('--unsandboxed', 'start servers even where they cannot be boxed')
    .option('--json', 'print the lock and the proposed classes as one JSON document')
    .action(async (file, options) => done(await (await import('./commands/lock.ts')).lock(file, options)))

  addTools(program, done)

  program
    .command('call')
    .summary('call one tool, by the same path that agents take')
    .argument('<tool>', 'matrix://tool/mcp/<alias>/<tool>@<pin>, a wire name, or a name that only one server has')
    .requiredOption('-m, --manifest <file>', 'the manifest or lock that declares it')
    .option('-a, --args <json>', 'the arguments: JSON, @file, or - for standard input')
    .option('-w, --worktree <dir>', 'the folder that /workspace stands for; this one when left out')
    .option('--timeout <seconds>', 'how long to wait, instead of what the manifest says')
    .option('-y, --yes', 'agree where the policy would ask')
    .option('--bootstrap', 'run servers with placeholder digests')
    .option('--unsandboxed', 'start the server even where it cannot be boxed')
    .option('--json', 'print the whole result as one JSON document')
    .addHelpText(
      'after',
      note(
        'Exits with 3 when the tool answers with an error, 1 when the call is denied, 4 when its server is out of reach.',
      ),
    )
    .action(async (tool, options) => done(await (await import('./commands/call.ts')).call(tool, options)))

  program
    .command('doctor')
    .summary('whether this machine has what Matrix needs, and what to do if not')
    .option('--json', 'print one JSON document')
    .action(async (options) => done(await (await import('./commands/doctor.ts')).doctor(options)))

  program
    .command('serve-tools')
    .summary('serve Matrix’s own tools (bash, files, search) to any MCP client')
    .description(
      'Serve Matrix’s own tools (bash, files, search) to any MCP client, in a sandbox: they read and write the folder, run the programs in your PATH, and have no network but the hosts that you name. The first line on standard error says whether they are sandboxed.',
    )
    .requiredOption('--stdio', 'over standard input and output')
    .option('--root <dir>', 'the folder to work in; this one when left out')
    .option('--host <host...>', 'a host that commands may reach, such as registry.npmjs.org or *.example.com')
    .option('--unsandboxed', 'run the tools without a sandbox, with all your rights on this machine')
    .action(async (options) => done(await (await import('./commands/serve-tools.ts')).serveTools(options)))

  program
    .command('mock-provider')
    .summary('play a model from a playbook, for tests and demos without a key')
    .description(
      'Play a model from a playbook over HTTP, as Anthropic and as OpenAI, and check every request as they would. What is wrong is said as it is found; Ctrl-C ends it and tells what was never asked for.',
    )
    .argument('<playbook>', 'a playbook, or - for standard input')
    .option('--port <number>', 'where to listen; any free port when left out')
    .option('--json', 'print one JSON document per line: where it listens, each problem, and the end')
    .addHelpText('after', note('Exits with 1 when a request was wrong or a scripted turn was never asked for.'))
    .action(async (file, options) =>
      done(await (await import('./commands/mock-provider.ts')).mockProvider(file, options)),
    )

  program
    .command('import')
    .summary('turn an MCP client, registry or bundle file into a manifest draft')
    .description(
      'Turn what you already have into a v1 manifest draft: Claude Desktop and Claude Code, VS Code, Cursor, Amazon Q and Kiro, registry server.json, MCPB manifest.json. Secrets become $env: references; their values are never printed.',
    )
    .argument('<file>', 'the file to read, or - for standard input')
    .option('-o, --out <file>', 'write the draft there instead of printing it')
    .option('--agent <name>', 'what to call the agent')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print draft and findings as one JSON document')
    .action(async (file, options) => done(await (await import('./commands/import.ts')).importFile(file, options)))

  program
    .command('digest')
    .summary('sha256 of a published npm package, a file, or a manifest’s content')
    .description(
      'Print the package_digest of an npm package at an exact version, or the digest of a file. For a manifest, also its content address.',
    )
    .argument('<target>', 'npm spec such as name@1.2.3, or a file')
    .option('--json', 'print one JSON document')
    .action(async (target, options) => done(await (await import('./commands/digest.ts')).digest(target, options)))

  program
    .command('explain')
    .summary('what a rule means, why it exists and how to satisfy it')
    .argument('[rule]', 'a rule such as MX010 or a locked design rule such as Q21; all of them when left out')
    .option('--json', 'print one JSON document')
    .action(async (rule, options) => done((await import('./commands/explain.ts')).explain(rule, options)))

  program
    .command('schema')
    .summary('a format as JSON Schema, for your editor')
    .addArgument(
      new Argument('[format]', 'which format')
        .choices(['manifest', 'agent-format', 'gpars', 'lock'])
        .default('manifest'),
    )
    .option('-o, --out <file>', 'write it there instead of printing it')
    .option('--force', 'replace the file if it exists')
    .action(async (format, options) => done(await (await import('./commands/schema.ts')).schema(format, options)))

  program
    .command('uri')
    .summary('take a tool or agent URI apart')
    .argument('<uri>', 'matrix://tool/mcp/<alias>/<tool>@<pin> or matrix://agent/<name>')
    .option('--json', 'print one JSON document')
    .action(async (uri, options) => done((await import('./commands/uri.ts')).uri(uri, options)))

  program
    .command('completion')
    .summary('print a completion script for your shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell) => done((await import('./commands/completion.ts')).completion(shell, program)))

  for (const command of program.commands) {
    finish(command, command.name())
    for (const one of command.commands) finish(one, `${command.name()} ${one.name()}`)
  }
  return program
}

/** Help says what a command is for and shows it in use; a mistake leads to the help of the command that was meant. */
function finish(command: Command, name: string): void {
  const summary = command.summary()
  if (command.description() === '') command.description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
  const examples = commandExamples[name] ?? []
  command
    .addHelpText('after', ['', 'Examples:', ...examples.map((line) => `  $ ${line}`)].join('\n'))
    .showHelpAfterError(`(matrix ${name} --help says what it takes)`)
    .exitOverride()
}

function addTools(program: Command, done: Done): void {
  const load = () => import('./commands/server-drift.ts')
  const tools = program
    .command('tools')
    .summary('the tools of an agent by their URIs, and what the gate says to each')
    .argument('<manifest>', 'a manifest or lock')
    .option(...json)
    .action(async (file, options) => done(await (await import('./commands/tools.ts')).tools(file, options)))
  const answering = (name: string, summary: string) =>
    tools
      .command(name)
      .summary(summary)
      .argument('<server>', 'its alias')
      .option('-t, --task <task>', `whose server it is: ${taskArgument}`, 'root')
      .option(...project)
      .option(...json)
  answering('approve', 'show what is different about a server, and lock it as it is now')
    .option('--digest <digest>', 'agree to exactly this, without being asked')
    .action(async (server, _options, command: Command) =>
      done(await (await load()).approveServer(server, command.optsWithGlobals())),
    )
  answering('block', 'keep a server from every agent of the project').action(
    async (server, _options, command: Command) =>
      done(await (await load()).blockServer(server, command.optsWithGlobals())),
  )
}
