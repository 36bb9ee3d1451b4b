/** Every way Matrix fails on purpose: the HTTP status the daemon answers, and what to do next when nobody can say it better. */
export const errors = {
  ErrUnpinnedTool: { status: 400, hint: 'Add @<semver> or @sha256:<64 hex digits> to the tool URI.' },
  URI_MALFORMED: { status: 400, hint: 'Write matrix://tool/mcp/<alias>/<tool>@<pin> or matrix://agent/<name>.' },
  DOCUMENT_UNREADABLE: { status: 400, hint: 'Name a regular file that you may read.' },
  DOCUMENT_TOO_LARGE: { status: 413, hint: 'This is hardly a manifest; name the right file.' },
  DOCUMENT_INVALID: { status: 422, hint: 'Run matrix verify --offline on the file to see every finding.' },
  FORMAT_UNKNOWN: { status: 422, hint: 'Give a Matrix, Agent Format, GPARS, MCP client, registry or MCPB file.' },
  VALUE_NOT_CANONICAL: {
    status: 422,
    hint: 'Use only what JSON can say: no NaN, no lone surrogates, nesting of 64 at most.',
  },
  SKILL_UNKNOWN: { status: 404, hint: 'List the skills with matrix skills.' },
  SKILL_UNAPPROVED: { status: 409, hint: 'Read it with matrix skills show, then run matrix skills approve.' },
  SKILL_INVALID: { status: 422, hint: 'Correct the file or the folder that is named.' },
  TOOL_UNKNOWN: { status: 404, hint: 'Use a tool that the manifest declares.' },
  TOOL_AMBIGUOUS: { status: 409, hint: 'Name the tool by its full matrix:// URI.' },
  TOOL_DRIFT: { status: 409, hint: 'Compare with matrix diff, then lock again if the change is wanted.' },
  TOOL_FAILED: { status: 422, hint: 'Change the arguments as the message says, then call again.' },
  AUTHORIZATION_DENIED: {
    status: 403,
    hint: 'Do not repeat the call; ask the person in charge or choose another way.',
  },
  SERVER_UNAVAILABLE: { status: 503, hint: 'Go on without this server, or try again later.' },
  SANDBOX_UNAVAILABLE: { status: 503, hint: 'Run matrix doctor: it names the one command that brings the sandbox.' },
  SANDBOX_REFUSED: { status: 422, hint: 'Change the path, host or program that is named; nothing was started.' },
  HOOK_REFUSED: { status: 409, hint: 'Correct the hook that is named, then run matrix lock again.' },
  CREDENTIAL_MISSING: { status: 424, hint: 'Set the environment variables that are named, then start again.' },
  CREDENTIAL_UNUSABLE: { status: 424, hint: 'Correct the environment variable that is named, then start again.' },
  TOOL_TIMEOUT: { status: 504, hint: 'Ask for less at once, or give the tool a larger timeout_ms in the manifest.' },
  TOOL_CANCELLED: { status: 409, hint: 'Call again if the result is still wanted.' },
  PACKAGE_MISMATCH: {
    status: 409,
    hint: 'Do not run it. Find out why the bytes differ, then pin what you trust with matrix digest or matrix lock.',
  },
  PACKAGE_UNVERIFIABLE: {
    status: 422,
    hint: 'Use a package from npm, a bundle, or a local file, whose bytes can be hashed.',
  },
  DEPENDENCY_REFUSED: {
    status: 409,
    hint: 'Everything a package needs must come from the registry with its integrity: use another package or version.',
  },
  PACKAGE_UNAVAILABLE: { status: 503, hint: 'Check the name, the version and the network.' },
  SESSION_CORRUPT: {
    status: 500,
    hint: 'Repair it with matrix task repair: what can be read is kept, and so is the file as it was found.',
  },
  SESSION_UNKNOWN: { status: 404, hint: 'List the sessions, or restore this one from its archive.' },
  SESSION_EXISTS: { status: 409, hint: 'Choose another session id, or archive the one that is there.' },
  SESSION_FENCED: { status: 409, hint: 'Another owner has taken the session over: stop, and claim it again to go on.' },
  SESSION_VERSION: { status: 422, hint: 'Install the version of Matrix that wrote the session, or a later one.' },
  SESSION_ID_INVALID: { status: 400, hint: 'Use letters, digits, - and _, at most 128 of them.' },
  EVENT_UNKNOWN: { status: 404, hint: 'Read the session again and name the seq of an event that it holds.' },
  EVENT_INVALID: { status: 422, hint: 'Append only what JSON can say.' },
  STORAGE_FULL: { status: 507, hint: 'Free some disk space; nothing was lost, and work goes on once there is room.' },
  STORAGE_FAILED: { status: 500, hint: 'Check that the disk works and that Matrix may write to the folder.' },
  STORAGE_NETWORK: { status: 500, hint: 'Move the data directory (MXD_DATA_DIR) to a local disk.' },
  STORAGE_LOCKED: { status: 409, hint: 'Use the Matrix that is running, or stop it first.' },
  STORAGE_UNSAFE: { status: 500, hint: 'Make sure that only you can read and write what is named.' },
  STORE_CLOSED: { status: 503, hint: 'Open the store again.' },
  TASK_UNKNOWN: { status: 404, hint: 'List the tasks and use an id, or the first 8 or more characters of one.' },
  TASK_AMBIGUOUS: { status: 409, hint: 'Give more characters of the task id.' },
  PROVIDER_FAILED: { status: 502, hint: 'Send the agent a message to let it try again.' },
  PROVIDER_REFUSED: { status: 502, hint: 'Say it another way, or let another model do it.' },
  CONTEXT_EXCEEDED: { status: 413, hint: 'Compact the session, or start the task again with a smaller context.' },
  COMPACTION_FAILED: { status: 502, hint: 'Send the agent a message to let it try again, or choose another model.' },
  BUDGET_EXCEEDED: { status: 402, hint: 'Raise the budget: the task resumes by itself.' },
  PRICE_UNKNOWN: {
    status: 424,
    hint: 'Set the price of the model (`prices` in the settings), or a budget in tokens instead of dollars.',
  },
  LOOP_DETECTED: { status: 409, hint: 'Read what the agent repeats, then tell it what to do instead.' },
  LIMIT_REACHED: { status: 409, hint: 'Raise the limit that is named and send the agent a message.' },
  PLAYBOOK_INVALID: { status: 422, hint: 'Correct the field that is named.' },
  MOCK_FAILED: { status: 500, hint: 'Compare the script with the requests that were made.' },
  TASK_STATUS: { status: 409, hint: 'Bring the task into a status from which this move is legal.' },
  TASK_ID_MALFORMED: { status: 400, hint: 'Use a task id, or the first 8 or more characters of one.' },
  TASK_INVALID: { status: 422, hint: 'Correct the field that is named and try again.' },
  TASK_DEPTH: { status: 409, hint: 'Create the task higher up, or raise maxDepth in the settings.' },
  TASK_ORDER: { status: 409, hint: 'Read the tree again and name every child exactly once.' },
  TREE_MISSING: { status: 404, hint: 'Create the tree, or rebuild it from the sessions.' },
  TREE_TRUNCATED: { status: 500, hint: 'Rebuild the tree from the sessions; the file is kept beside the new one.' },
  TREE_DAMAGED: { status: 500, hint: 'Rebuild the tree from the sessions; the file is kept beside the new one.' },
  REPOSITORY_UNUSABLE: { status: 422, hint: 'Name a git repository that has at least one commit.' },
  GIT_FAILED: { status: 500, hint: 'Read what git said, put the repository right and try again.' },
  GIT_MISSING: { status: 424, hint: 'Install git 2.38 or newer, then start again.' },
  GIT_NAME_INVALID: { status: 400, hint: 'Use a name that git check-ref-format accepts.' },
  GIT_IDENTITY_MISSING: {
    status: 409,
    hint: 'Run git config --global user.name "Your Name" and git config --global user.email you@example.com.',
  },
  BRANCH_UNKNOWN: { status: 404, hint: 'Name a branch that exists in the repository.' },
  BRANCH_MOVED: { status: 409, hint: 'Look at the branch again, then repeat the call.' },
  BRANCH_CHECKED_OUT: { status: 409, hint: 'Switch that checkout to another branch, or merge there yourself.' },
  SETUP_UNDECIDED: {
    status: 409,
    hint: 'Run matrix init in the repository: it proposes a setup and asks. "Nothing is needed" is an answer, too.',
  },
  SETUP_INVALID: { status: 422, hint: 'Give a script that is UTF-8 text of at most 256 kB, or "nothing is needed".' },
  SETUP_FAILED: {
    status: 500,
    hint: 'Run matrix init to change the setup: the task resumes by itself. matrix resume tries it again as it is.',
  },
  WORKTREE_UNKNOWN: { status: 404, hint: 'List the worktrees and use the id of one of them.' },
  WORKTREE_OBSTRUCTED: {
    status: 409,
    hint: 'Move what is in the way somewhere else; Matrix deletes only what it made.',
  },
  WORKTREE_UNSAVED: {
    status: 409,
    hint: 'Save or remove what is named, then try again; the worktree was left as it is.',
  },
  WORKTREE_DRIFTED: { status: 409, hint: "Switch the worktree back to the task's branch: only that one is merged." },
  GIT_UNFINISHED: { status: 409, hint: 'Finish or abort what git is doing there, then repeat the call.' },
  COMMIT_REFUSED: {
    status: 422,
    hint: 'The commits are kept in the sandbox. Correct what is named (git commit --amend, git rebase), then continue.',
  },
  SNAPSHOT_UNKNOWN: { status: 404, hint: 'List the snapshots and use the name of one of them.' },
  MERGE_REFUSED: { status: 422, hint: 'Have the branch corrected before it is merged.' },
  MERGE_FLAGGED: {
    status: 409,
    hint: 'Look at these files, then accept them: on the review page, with matrix merge --accept-flagged, or over HTTP by naming them in acceptFlagged together with expectedHead.',
  },
  PROJECT_UNKNOWN: { status: 404, hint: 'List the projects, or register the repository with matrix init.' },
  PROJECT_EXISTS: { status: 409, hint: 'Use the project that is there.' },
  PROJECT_UNUSABLE: { status: 409, hint: 'Put right what is named; nothing of the project was changed.' },
  CONFIG_INVALID: { status: 422, hint: 'Correct the value that is named.' },
  CONFIG_FORBIDDEN: { status: 403, hint: 'Set it in a layer that may hold it: see matrix config list --show-origin.' },
  AGENT_UNKNOWN: { status: 404, hint: 'Name a manifest that exists, or leave it out to use the default one.' },
  AGENT_EXISTS: { status: 409, hint: 'Replace it, or give the new one another name.' },
  AGENT_UNAPPROVED: { status: 403, hint: 'Read the manifest, then approve it if you want agents to work by it.' },
  AGENT_BUSY: { status: 409, hint: 'Stop the agent first.' },
  PROVIDER_MISSING: { status: 424, hint: 'Set an API key: matrix config set authGroups.default.anthropicApiKey.' },
  MESSAGE_CONSUMED: { status: 409, hint: 'The agent has read it already: send another one.' },
  QUESTION_UNKNOWN: { status: 404, hint: 'It was answered, or the task has ended: look at what waits now.' },
  APPROVAL_UNKNOWN: { status: 404, hint: 'It was answered or has expired: look at what waits now.' },
  DEVICE_UNKNOWN: { status: 404, hint: 'List the devices with matrix device list.' },
  ATTENTION_UNKNOWN: { status: 404, hint: 'It has been dealt with: look at what waits now.' },
  PROCESS_UNKNOWN: { status: 404, hint: 'List the processes and use the id of one of them.' },
  PORT_UNUSED: { status: 409, hint: 'Start the server first, as a background command of the agent.' },
  PROXY_UNAVAILABLE: { status: 502, hint: 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY where Matrix is started.' },
  PORT_TAKEN: { status: 409, hint: 'Name another port of this machine, or leave it out.' },
  FORWARD_UNKNOWN: { status: 404, hint: 'List the forwarded ports and use the id of one of them.' },
  REQUEST_INVALID: { status: 400, hint: 'Correct the field that is named and send the request again.' },
  ROUTE_UNKNOWN: { status: 404, hint: 'See /api/docs for what there is.' },
  REQUEST_NOT_JSON: { status: 415, hint: 'Send the body as application/json.' },
  REQUEST_TOO_LARGE: { status: 413, hint: 'Send less at once.' },
  AUTH_REQUIRED: { status: 401, hint: 'Sign in with an enrolled device; matrix device add enrols one.' },
  AUTH_FAILED: { status: 403, hint: 'Start again; enrol the device anew if that does not help.' },
  ORIGIN_REFUSED: { status: 403, hint: 'Use the page that the daemon itself serves.' },
  HOST_REFUSED: { status: 421, hint: 'Use the address that matrix daemon status prints.' },
  RATE_LIMITED: { status: 429, hint: 'Wait a moment, then try again.' },
  NOT_READY: { status: 503, hint: 'The daemon is resuming its agents: try again in a moment.' },
  DAEMON_UNREACHABLE: { status: 503, hint: 'Start it with matrix daemon start.' },
  PORT_IN_USE: { status: 409, hint: 'Choose another port with matrix config set port, or end what uses it.' },
  INTERNAL: { status: 500, hint: 'This is a fault in Matrix; the log of the daemon says more.' },
} as const satisfies Record<string, { status: number; hint: string }>

export type ErrorCode = keyof typeof errors

/** `code` is for programs, `message` for people, `hint` for what to do next; `field` is what was wrong in a request. */
export class MatrixError extends Error {
  override readonly name = 'MatrixError'
  readonly code: ErrorCode
  readonly hint: string
  readonly field: string | undefined

  constructor(code: ErrorCode, message: string, options: { hint?: string; field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? errors[code].hint
    this.field = options.field
  }

  /** What the daemon answers with. */
  get status(): number {
    return errors[this.code].status
  }

  toJSON(): { code: ErrorCode; message: string; hint: string; field?: string } {
    const { code, message, hint, field } = this
    return { code, message, hint, ...(field === undefined ? {} : { field }) }
  }
}
