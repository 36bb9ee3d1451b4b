/** Every way Matrix fails on purpose: the HTTP status the daemon answers, and what to do next when nobody can say it better. */
export const errors = {
  ErrUnpinnedTool: { status: 400, hint: 'Add @<semver> or @sha256:<64 hex digits> to the tool URI.' },
  URI_MALFORMED: { status: 400, hint: 'Write matrix://tool/mcp/<alias>/<tool>@<pin> or matrix://agent/<name>.' },
  DOCUMENT_UNREADABLE: { status: 400, hint: 'Name a regular file that you may read.' },
  DOCUMENT_INVALID: { status: 422, hint: 'Run matrix verify --offline on the file to see every finding.' },
  FORMAT_UNKNOWN: { status: 422, hint: 'Give a Matrix, Agent Format, GPARS, MCP client, registry or MCPB file.' },
  VALUE_NOT_CANONICAL: {
    status: 422,
    hint: 'Use only what JSON can say: no NaN, no lone surrogates, nesting of 64 at most.',
  },
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
  CREDENTIAL_MISSING: { status: 424, hint: 'Set the environment variables that are named, then start again.' },
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
  PACKAGE_UNAVAILABLE: { status: 503, hint: 'Check the name, the version and the network.' },
  SESSION_CORRUPT: {
    status: 500,
    hint: 'Keep the file; restore the session from its archive or repair the line that is named.',
  },
  TASK_UNKNOWN: { status: 404, hint: 'List the tasks and use an id, or the first 8 or more characters of one.' },
  TASK_AMBIGUOUS: { status: 409, hint: 'Give more characters of the task id.' },
  TASK_STATUS: { status: 409, hint: 'Bring the task into a status from which this move is legal.' },
} as const satisfies Record<string, { status: number; hint: string }>

export type ErrorCode = keyof typeof errors

/** `code` is for programs, `message` for people, `hint` for what to do next. */
export class MatrixError extends Error {
  override readonly name = 'MatrixError'
  readonly code: ErrorCode
  readonly hint: string

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? errors[code].hint
  }

  /** What the daemon answers with. */
  get status(): number {
    return errors[this.code].status
  }

  toJSON(): { code: ErrorCode; message: string; hint: string } {
    return { code: this.code, message: this.message, hint: this.hint }
  }
}
