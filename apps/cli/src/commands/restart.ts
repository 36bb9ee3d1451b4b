import { printableLine } from '@matrix/protocol'
import { describeCacheCost, describeChanges, isChanged } from '@matrix/protocol/display'
import type { SessionConfiguration } from '@matrix/protocol/http'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { openTask, type PlaceOptions } from '../place.ts'
import { print, printJson } from '../terminal.ts'

type Options = PlaceOptions & { now?: boolean; check?: boolean; json?: boolean }

/** Has a session take the configuration of now: its model, tools and prompt. Its conversation stays as it is. */
export async function restart(name: string, { now = false, check, json, ...options }: Options): Promise<ExitCode> {
  const { client, project, task } = await openTask(name, options)
  const place = { projectId: project.id, taskId: task.id }
  const before = await client.readConfiguration(place)
  const isNeeded = isChanged(before) && !check
  const configuration = isNeeded ? await client.restartAgent({ ...place, body: { now } }) : before
  if (json) printJson(configuration)
  else print(tell(configuration, printableLine(task.title), { now, isNeeded }))
  return exitCode.ok
}

function tell(
  configuration: SessionConfiguration,
  title: string,
  { now, isNeeded }: { now: boolean; isNeeded: boolean },
): string {
  const { current, offered } = configuration
  if (!current) return `“${title}” has not begun: it starts with ${offered.model}.`
  if (!isChanged(configuration)) return `“${title}” runs with the configuration of now: ${current.model}.`
  const differences = describeChanges(configuration).map((each) => `  ${printableLine(each)}`)
  const head = isNeeded
    ? `“${title}” takes the configuration of now${now ? ' at once' : ' when its agent rests'}:`
    : `“${title}” runs with an older configuration. The settings would give it:`
  return [head, ...differences, describeCacheCost(configuration)].join('\n')
}
