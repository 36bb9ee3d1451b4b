import { cleanHome, measureProjects } from '@matrix/orchestrator'
import { MatrixError, printableLine } from '@matrix/protocol'
import { formatBytes } from '@matrix/protocol/display'
import { openSandbox } from '@matrix/tool-manager'
import { dataFolder } from '../data-folder.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { connect, projectNamed } from '../place.ts'
import { confirm } from '../prompt.ts'
import { print, printJson } from '../terminal.ts'

/** Empties the caches that the sandboxes of a project have filled. */
export async function clean(
  name: string,
  options: { all?: boolean; yes?: boolean; json?: boolean },
): Promise<ExitCode> {
  const project = await projectNamed(await (await connect()).listProjects(), name)
  if (project.agents.working > 0)
    throw new MatrixError('AGENT_BUSY', `${project.agents.working} agents of ${project.name} use its caches.`, {
      hint: 'Stop them with matrix stop, or wait until they are done.',
    })
  const sandbox = await openSandbox({ mode: 'auto' })
  const before = await homeOf(project.id)
  const what = options.all ? 'everything in the home' : 'the caches'
  if (before && !(await confirm(`Remove ${what} of ${printableLine(project.name)}’s sandboxes?`, options)))
    return exitCode.findings
  if (before) await cleanHome(sandbox, before.home, options)
  const freed = Math.max(0, (before?.homeBytes ?? 0) - ((await homeOf(project.id))?.homeBytes ?? 0))
  if (options.json) printJson({ freedBytes: freed })
  else print(`Removed ${formatBytes(freed)}.`)
  return exitCode.ok
}

async function homeOf(projectId: string) {
  return (await measureProjects(dataFolder())).find((each) => each.projectId === projectId)
}
