import { type Command, Option } from 'commander'
import {
  addBudgetFlags,
  collect,
  type Done,
  defaultCommand,
  json,
  note,
  project,
  taskArgument,
  yes,
} from './command-options.ts'
import { addSnapshots } from './commands/snapshots-command.ts'

/** Commands for the work with agents and the review of it. Each is loaded when it is called. */
export function addAgentCommands(program: Command, done: Done): void {
  program.commandsGroup('Work with agents:')
  addTalking(program, done)
  addRestarting(program, done)
  addWatching(program, done)
  addTask(program, done)
  program.commandsGroup('Review what they did:')
  addReview(program, done)
  addSnapshots(program, done)
}

function addTalking(program: Command, done: Done): void {
  program
    .command('init')
    .summary('make this repository ready for agents: model, daemon, project, setup')
    .description(
      'Finds a model or asks for one, starts the daemon if none runs, adds the repository, shows what a new worktree needs and asks one question about it. Nothing is written into the repository. Run it again to see or change what was decided.',
    )
    .argument('[folder]', 'a folder of the repository', '.')
    .option('--name <name>', 'what to call it; the name of the folder when left out')
    .option('-y, --yes', 'ask nothing: take what is proposed')
    .option('--setup <what>', 'auto (what is proposed), none, or a file with the script')
    .option(
      '--setup-files <paths>',
      'what the setup may read of your checkout, such as .env,config/local.json, or none',
    )
    .option('--hosts <hosts>', 'the hosts that it can reach, separated by commas, instead of what is proposed')
    .option('--no-hosts', 'allow no hosts')
    .option('--key-env <name>', 'keep the key that this environment variable holds')
    .option('--url <url>', 'a model server that speaks OpenAI’s API; it needs no key')
    .option('--model <model>', 'the model to use, with --key-env or --url')
    .option('--no-daemon', 'do not start the daemon')
    .option('--port <port>', 'of the daemon, if it is started')
    .option(...json)
    .addHelpText(
      'after',
      note(
        'Exits with 1 when agents cannot start yet (no model, no git identity), and with 2 when the setup is not decided because there is no terminal to ask on.',
      ),
    )
    .action(async (folder, options) => done(await (await import('./commands/init.ts')).init(folder, options)))

  program
    .command('send')
    .summary('say something to a task: starts its agent, wakes it, or reaches it at work')
    .argument('<task>', taskArgument)
    .argument('[text...]', 'what to say; - reads it from standard input')
    .option('--image <file>', 'send a picture along; may be repeated', collect)
    .option('--agent <name>', 'the agent that the task works by; one that has begun, from its next reset or compaction')
    .option('-f, --follow', 'then watch the task')
    .option(...project)
    .option(...json)
    .addHelpText('after', note('Exits with 1 when the message is kept but its agent cannot start; the reason is said.'))
    .action(async (task, text, options) => done(await (await import('./commands/send.ts')).send(task, text, options)))

  const runs = program
    .command('run')
    .summary('one goal without a daemon, for scripts and CI: ends when the agent is done')
    .description(
      'Runs agents in this process until the root agent is done, on a data directory that is made for it and removed afterwards, with your settings. Questions are answered by telling the agent to decide; calls that need a yes are denied, unless --yes-for agrees to them in advance.',
    )
    .argument(
      '[goal...]',
      'what is to be done; - reads it from standard input; nothing, with --data, goes on where it was',
    )
    .option('--folder <folder>', 'the repository; the one of this folder when left out')
    .option('--data <folder>', 'keep everything there; also goes on with a run that was interrupted')
    .option('--keep', 'do not remove the data directory')
  addBudgetFlags(runs, 'everything together')
    .option('--model <model>', 'instead of what the settings say')
    .option('--timeout <time>', '90s, 15m, 2h')
    .option(
      '--yes-for <pattern>',
      'agree to a class (shell, network …), to the proposed setup (setup), or to calls whose URI matches (* is anything); may be repeated',
      collect,
    )
    .option('--setup <what>', 'what a new worktree needs: auto (what is proposed), none, or a file with the script')
    .option('--allow-host <host>', 'let commands reach this host; may be repeated', collect)
    .option('--merge', 'merge the work into the base branch when it passed')
    .option('--accept-flagged', 'with --merge: also merge files that run by themselves, unseen')
    .option('--unsandboxed', 'run tools even where they cannot be boxed')
    .option('-v, --verbose', 'show in full what tools were asked and answered')
    .option('--json', 'print one frame of the stream per line, and the result as the last')
    .addHelpText(
      'after',
      note(
        'Exits with 0 when the agent passed, 1 when it failed or is blocked, 5 when a budget is used up, 124 when the time is over, 130 when interrupted. Every way out prints a result.',
      ),
    )
    .action(async (goal, options) => done(await (await import('./commands/run.ts')).run(goal, options)))

  program
    .command('demo')
    .summary('four agents at work on a sample repository, without a model')
    .description(
      'Plays a story on a sample repository that is made for it and removed afterwards: tasks, worktrees, edits, tests, a question, a conflict and merges are real; only the model is a script. With a key in your settings, the same goal runs on the real model.',
    )
    .option('--keep', 'do not remove the sample repository and its data')
    .option('-v, --verbose', 'show in full what tools were asked and answered')
    .option('--json', 'print one frame of the stream per line, and the result as the last')
    .action(async (options) =>
      done(await (await import('./commands/run.ts')).run([], { ...options, demo: true, merge: true })),
    )

  program
    .command('inbox')
    .summary('everything that waits for you, in all projects')
    .option('--dismiss <which>', 'put a failure or a review aside as seen: its task or its id')
    .option('-p, --project <name>', 'only this project')
    .option(...json)
    .action(async (options) => done(await (await import('./commands/inbox.ts')).inbox(options)))

  program
    .command('approve')
    .summary('calls that need a yes: shows them and asks')
    .argument('[which]', 'its id or its task; all that wait when left out')
    .option('--list', 'only show them')
    .option('--deny', 'say no')
    .option('--reason <text>', 'what the log says why not')
    .addOption(new Option('--scope <scope>', 'say yes without being asked').choices(['once', 'task', 'always']))
    .option('--digest <digest>', 'with --scope: the digest of the arguments that were shown')
    .option('--any-arguments', 'with --scope task or always: allow the tool with any arguments')
    .option(...json)
    .action(async (id, options) => done(await (await import('./commands/approve.ts')).approve(id, options)))

  program
    .command('answer')
    .summary('answer what agents ask')
    .argument('[which]', 'the task that asks, or the id of the question; each in turn when left out')
    .argument('[text...]', 'the answer, the number of an option, or - for standard input')
    .option(...json)
    .action(async (id, text, options) => done(await (await import('./commands/answer.ts')).answer(id, text, options)))

  program
    .command('stop')
    .summary('interrupt a task and all below it')
    .argument('<task>', taskArgument)
    .option(...project)
    .option(...json)
    .action(async (task, options) => done(await (await import('./commands/stop.ts')).stop(task, options)))

  program
    .command('resume')
    .summary('let a stopped task and all below it go on')
    .argument('<task>', taskArgument)
    .option(...project)
    .option(...json)
    .action(async (task, options) => done(await (await import('./commands/stop.ts')).resume(task, options)))
}

function addRestarting(program: Command, done: Done): void {
  program
    .command('restart')
    .summary('have a session take the model, tools and prompt of now')
    .argument('<task>', taskArgument)
    .option('--now', 'interrupt the agent; without this, it takes them when it rests')
    .option('--check', 'only say what would change and what it costs')
    .option(...project)
    .option(...json)
    .action(async (task, options) => done(await (await import('./commands/restart.ts')).restart(task, options)))
}

function addWatching(program: Command, done: Done): void {
  program
    .command('tree')
    .summary('the tasks: status, cost, age, and what each agent does')
    .option('-w, --watch', 'keep it up to date; into a pipe, a line for every change')
    .option('-a, --all', 'closed tasks too')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await import('./commands/tree.ts')).tree(options)))

  program
    .command('watch')
    .summary('what happens from now on, in one task or in all')
    .argument('[task]', taskArgument)
    .option('-v, --verbose', 'show in full what tools were asked and answered')
    .option(...project)
    .option('--json', 'print one frame of the stream per line')
    .action(async (task, options) => done(await (await import('./commands/watch.ts')).watch(task, options)))

  program
    .command('logs')
    .summary('the conversation of a task so far')
    .argument('<task>', taskArgument)
    .option('-n, --last <count>', 'only the last events')
    .option('-f, --follow', 'go on with what happens next')
    .option('-v, --verbose', 'show in full what tools were asked and answered')
    .option('--raw', 'print the events themselves, one JSON document per line')
    .option(...project)
    .option('--json', 'the same as --raw')
    .action(async (task, options) => done(await (await import('./commands/logs.ts')).logs(task, options)))

  program
    .command('search')
    .summary('look words up in everything that was said and done')
    .argument('<words...>', 'what to look for')
    .option('--task <task>', `only in this task: ${taskArgument}`)
    .option('--everywhere', 'in all projects')
    .option('--type <type>', 'only events of this type; may be repeated', collect)
    .option('--since <when>', '30m, 2h, 3d, 1w, or a date')
    .option('--limit <count>', 'how many to show; 20 when left out')
    .option(...project)
    .option(...json)
    .addHelpText('after', note('Exits with 1 when nothing is found.'))
    .action(async (words, options) => done(await (await import('./commands/search.ts')).search(words, options)))

  program
    .command('cost')
    .summary('what was spent, by task, day or model')
    .option('--by <fields>', 'any of task, day, model and session, separated by commas', 'task')
    .option('--task <task>', `only this task: ${taskArgument}`)
    .option('--since <when>', '30m, 2h, 3d, 1w, or a date')
    .option('--everywhere', 'in all projects')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await import('./commands/cost.ts')).cost(options)))
}

function addTask(program: Command, done: Done): void {
  const task = program.command('task').summary('show, create, change, move and end tasks')
  const load = () => import('./commands/task.ts')
  const one = (name: string, summary: string) =>
    task
      .command(name)
      .summary(summary)
      .argument('<task>', taskArgument)
      .option(...project)
      .option(...json)
  const described = (command: Command) =>
    addBudgetFlags(command, 'it and all below it')
      .option('-d, --description <text>', 'what is to be done; - reads it from standard input')
      .option('--persistent <how>', 'what happens to the conversation on close: no, reset or continue')
      .option('--color <color>', 'how it is marked')
      .option('--skill <name>', 'hold it and all below it to a skill; may be repeated, and none detaches all', collect)

  one('show', 'one task with everything that is known of it').action(async (name, options) =>
    done(await (await load()).showTask(name, options)),
  )
  described(
    task
      .command('create')
      .summary('add a task; it starts when something is sent to it')
      .argument('<title>', 'a few words')
      .option('--parent <task>', `below which: ${taskArgument}`, 'root')
      .option('--draft', 'agents leave it alone for now')
      .option('--folder', 'a folder, which groups tasks and never runs')
      .option('--agent <manifest>', 'what its agent may do')
      .option('--at <position>', 'where among its siblings; 0 is the first')
      .option(...project)
      .option(...json),
  ).action(async (title, options) => done(await (await load()).createTask(title, options)))
  described(one('update', 'change what is written on a task'))
    .option('--title <text>', 'what it is called')
    .option('--status <status>', 'draft, pending, in_progress, passed, failed or closed')
    .action(async (name, options) => done(await (await load()).updateTask(name, options)))
  one('delete', 'remove a task and all below it')
    .option(...yes)
    .action(async (name, options) => done(await (await load()).deleteTask(name, options)))
  one('close', 'end a task for good').action(async (name, options) =>
    done(await (await load()).closeTask(name, options)),
  )
  one('reset', 'bring a task back to its beginning')
    .option(...yes)
    .action(async (name, options) => done(await (await load()).resetTask(name, options)))
  one('move', 'put a task below another')
    .argument('<parent>', taskArgument)
    .action(async (name, parent, options) => done(await (await load()).moveTask(name, parent, options)))
  one('order', 'put the children of a task in a new order')
    .argument('<children...>', 'which come first, in this order')
    .action(async (name, children, options) => done(await (await load()).orderTasks(name, children, options)))
  one('fork', 'give another task what this one knows')
    .argument('<target>', taskArgument)
    .option('--up-to <seq>', 'the last event to take over; all of them when left out')
    .action(async (name, target, options) => done(await (await load()).forkTask(name, target, options)))
  one('rewind', 'take the conversation back to an event')
    .argument('<seq>', 'the last event that still counts: see matrix logs --raw')
    .option(...yes)
    .action(async (name, seq, options) => done(await (await load()).rewindTask(name, seq, options)))
  one('compact', 'have the conversation summed up').action(async (name, options) =>
    done(await (await load()).compactTask(name, options)),
  )
  one('withdraw', 'take back a message that was not read yet')
    .argument('<message>', 'its id; matrix task show lists them')
    .action(async (name, message, options) => done(await (await load()).withdrawMessage(name, message, options)))
  one('repair', 'make a damaged conversation usable again').action(async (name, options) =>
    done(await (await load()).repairTask(name, options)),
  )
}

function addReview(program: Command, done: Done): void {
  program
    .command('diff')
    .summary('what a task changed; or what differs between two manifests')
    .description(
      'With one argument, what the branch of a task would bring to its target, as a patch. With two, what changed between two manifests or locks, and how dangerous it is.',
    )
    .argument('<task-or-file>', `${taskArgument}; or the earlier manifest`)
    .argument('[file]', 'the later manifest')
    .option('--stat', 'only which files, and how much')
    .option('--path <file>', 'only this file')
    .option('--ignore-whitespace', 'leave out what differs in white space only')
    .option(...project)
    .option(...json)
    .addHelpText('after', note('With two files it exits with 1 when something differs; order and spacing never count.'))
    .action(async (first, second, options) => {
      if (second === undefined) return done(await (await import('./commands/changes.ts')).taskChanges(first, options))
      return done(await (await import('./commands/diff.ts')).diff(first, second, options))
    })

  program
    .command('merge')
    .summary('merge what a task did into the branch that it started from')
    .argument('<task>', taskArgument)
    .option('--squash', 'as one commit')
    .option('--update-checkout', 'bring the files of your own checkout along, if the branch is checked out there')
    .option('-m, --message <text>', 'of the merge commit')
    .option('--accept-flagged', 'accept the files that run by themselves, which matrix diff names; --yes does not')
    .option(...yes)
    .option(...project)
    .option(...json)
    .addHelpText('after', note('Exits with 1 when there are conflicts; nothing is merged then.'))
    .action(async (task, options) => done(await (await import('./commands/merge.ts')).merge(task, options)))

  program
    .command('forward')
    .summary("reach a port of a task's sandbox from this machine")
    .argument('[task]', taskArgument)
    .argument('[port]', 'the port that a server of the agent listens on')
    .option('--to <port>', 'the port of this machine; the same, or a free one, when left out')
    .option('--close', 'end it again')
    .option(...project)
    .option(...json)
    .action(async (task, port, options) =>
      done(await (await import('./commands/forward.ts')).forward(task, port, options)),
    )

  const worktrees = program.command('worktrees').summary('where tasks work, how large that is, and what nobody needs')
  const load = () => import('./commands/worktrees.ts')
  defaultCommand(worktrees, 'list')
    .summary('where they are, how large, and which nobody needs')
    .option(...project)
    .option(...json)
    .action(async (options) => done(await (await load()).listWorktrees(options)))
  worktrees
    .command('remove')
    .summary('remove one; unmerged work is kept as a snapshot')
    .argument('<task>', taskArgument)
    .option(...yes)
    .option(...project)
    .option(...json)
    .action(async (task, options) => done(await (await load()).removeWorktree(task, options)))
}
