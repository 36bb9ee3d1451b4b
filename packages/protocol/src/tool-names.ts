/** The alias of Matrix's own MCP server, in manifests, URIs and wire names. */
export const BUILTIN_ALIAS = 'mxd'

const wireName = <Name extends string>(name: Name) => `mcp__${BUILTIN_ALIAS}__${name}` as const

/** Tools that work on files and processes in an agent's worktree. */
export const builtinTools = {
  bash: wireName('bash'),
  background: wireName('background'),
  readFile: wireName('read_file'),
  writeFile: wireName('write_file'),
  editFile: wireName('edit_file'),
  listFiles: wireName('list_files'),
  search: wireName('search'),
} as const

/** Tools that work on the task tree and on other agents. */
export const orchestratorTools = {
  createTask: wireName('create_task'),
  updateTask: wireName('update_task'),
  deleteTask: wireName('delete_task'),
  resetTask: wireName('reset_task'),
  closeTask: wireName('close_task'),
  reorderTasks: wireName('reorder_tasks'),
  sendMessage: wireName('send_message'),
  getTree: wireName('get_tree'),
  getTask: wireName('get_task'),
  listProjects: wireName('list_projects'),
  sendMessageToProject: wireName('send_message_to_project'),
  forkTaskContext: wireName('fork_task_context'),
  commit: wireName('commit'),
  updateBranch: wireName('update_branch'),
  getChanges: wireName('get_changes'),
  mergeTask: wireName('merge_task'),
  rerunSetup: wireName('rerun_setup'),
  requestAccess: wireName('request_access'),
  useSkill: wireName('use_skill'),
} as const

/** The loop's own verbs: they pause, end or question the agent itself and reach nothing outside it. */
export const loopTools = { yield: wireName('yield'), done: wireName('done'), clarify: wireName('clarify') } as const

export type BuiltinTool = (typeof builtinTools)[keyof typeof builtinTools]
export type OrchestratorTool = (typeof orchestratorTools)[keyof typeof orchestratorTools]
export type LoopTool = (typeof loopTools)[keyof typeof loopTools]
