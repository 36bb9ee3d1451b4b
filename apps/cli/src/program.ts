import { Command, CommanderError } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { type ExitCode, exitCode } from './exit-code.ts'

/** Runs one command line to its exit code; nothing here throws, and nothing but the outcome decides the code. */
export async function runCommand(args: string[]): Promise<ExitCode> {
  // A reader that has seen enough, as in `matrix verify … | head`, is no fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) =>
    process.exit(error.code === 'EPIPE' ? exitCode.ok : exitCode.usage),
  )

  let outcome: ExitCode = exitCode.ok
  const program = buildProgram((code) => {
    outcome = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return outcome
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.ok : exitCode.usage
    const { explainFailure } = await import('./failure.ts')
    return explainFailure(error, { json: args.includes('--json') })
  }
}

const overview = `
Examples:
  $ matrix verify --offline agents/default.json
  $ matrix verify --offline --github '.mxd/agents/**/*.json'
  $ matrix digest @modelcontextprotocol/server-filesystem@2026.8.31
  $ matrix import ~/.cursor/mcp.json --out agents/mine.json
  $ matrix explain MX007

Exit codes:
  0 ok · 1 findings · 2 usage or unreadable file · 3 tool error · 4 could not verify`

export function buildProgram(done: (code: ExitCode) => void): Command {
  const program = new Command('matrix')
    .description('Say exactly what an agent can do, and prove it.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .addHelpText('after', overview)
    .showHelpAfterError('(run the command with --help to see what it takes)')
    .exitOverride()

  program
    .command('verify')
    .summary('check manifests: every finding with its line, reason and fix')
    .description('Check manifests, locks, Agent Format and GPARS files and skills. Directories are searched for them.')
    .argument('<path...>', 'files, directories, quoted globs, or - for standard input')
    .option('--offline', 'static check only: start no server, fetch nothing')
    .option('--strict', 'treat warnings as errors')
    .option('--bootstrap', 'accept placeholder digests and unpinned launchers, with a warning')
    .option('--check-env', 'also check that every $env:NAME is set in this environment')
    .option('--manifest <file>', 'hold the tool URIs of skills against this manifest')
    .option('--json', 'print one JSON document for programs')
    .option('--sarif', 'print SARIF 2.1.0 for code scanning')
    .option('--github', 'print GitHub workflow annotations')
    .action(async (paths, options) => done(await (await import('./commands/verify.ts')).verify(paths, options)))

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
    .command('diff')
    .summary('what changed between two manifests or locks, and how dangerous it is')
    .argument('<old>', 'the earlier file')
    .argument('<new>', 'the later file')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      '\nExits with 0 when nothing differs and with 1 when something does; order and spacing never count.',
    )
    .action(async (before, after, options) =>
      done(await (await import('./commands/diff.ts')).diff(before, after, options)),
    )

  program
    .command('explain')
    .summary('what a rule means, why it exists and how to satisfy it')
    .argument('[rule]', 'a rule such as MX010 or a locked design rule such as Q21; all of them when left out')
    .option('--json', 'print one JSON document')
    .action(async (rule, options) => done((await import('./commands/explain.ts')).explain(rule, options)))

  program
    .command('schema')
    .summary('the manifest format as JSON Schema, for your editor')
    .option('-o, --out <file>', 'write it there instead of printing it')
    .action(async (options) => done(await (await import('./commands/schema.ts')).schema(options)))

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
    .addHelpText(
      'after',
      '\nbash: matrix completion bash >> ~/.bashrc\nzsh:  matrix completion zsh > "${fpath[1]}/_matrix"\nfish: matrix completion fish > ~/.config/fish/completions/matrix.fish',
    )
    .action(async (shell) => done((await import('./commands/completion.ts')).completion(shell, program)))

  for (const command of program.commands) command.exitOverride()
  return program
}
