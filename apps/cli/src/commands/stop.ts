import { printableLine } from '@matrix/protocol'
import { plural } from '@matrix/protocol/display'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { shortId } from '../short-id.ts'
import { print, printJson } from '../terminal.ts'

type Options = PlaceOptions & { json?: boolean }

/** Interrupts a task and all below it; they stay so until someone resumes them or says something to them. */
export async function stop(name: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const { stopped } = await client.stopAgent({ projectId: project.id, taskId: task.id })
  if (options.json) printJson({ stopped })
  else if (stopped.length === 0) print(`“${printableLine(task.title)}” was not running.`)
  else
    print(
      `Stopped ${plural(stopped.length, 'agent')}. Let them go on with: matrix resume ${name === 'root' ? name : shortId(task.id)}`,
    )
  return exitCode.ok
}

export async function resume(name: string, options: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const { resumed } = await client.resumeAgent({ projectId: project.id, taskId: task.id })
  if (options.json) printJson({ resumed })
  else
    print(
      resumed.length === 0
        ? `Nothing was stopped in “${printableLine(task.title)}”.`
        : `${plural(resumed.length, 'agent')} ${resumed.length === 1 ? 'goes' : 'go'} on.`,
    )
  return exitCode.ok
}
