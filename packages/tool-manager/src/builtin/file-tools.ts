import * as z from 'zod'
import { answer, builtinTool } from './builtin-tool.ts'
import { editFile, nameLines } from './edit-file.ts'
import { listFiles, searchFiles } from './find-files.ts'
import { readFileLines } from './read-file.ts'
import type { RipgrepResult } from './ripgrep.ts'
import { showPath } from './workspace.ts'
import { writeWholeFile } from './write-file.ts'

const path = z.string().max(4096).describe('Relative to the workspace, or absolute.')
const glob = z.string().max(1000)
const offset = z.int().min(0).optional().describe('How many results to pass over.')

export const readFileTool = builtinTool({
  name: 'read_file',
  description:
    'Reads a file. Text comes with line numbers, at most 2000 lines at a time; lines longer than 2000 characters are cut. PNG, JPEG, GIF and WebP files come as images. Other binary files are not shown. Folders, pipes and devices are refused.',
  side_effect_class: 'read',
  roles: { paths: ['path'] },
  input: z.strictObject({
    path,
    offset: z.int().min(1).optional().describe('The first line to read; 1 if absent.'),
    limit: z.int().min(1).max(2000).optional().describe('How many lines to read; 2000 if absent.'),
  }),
  async run({ workspace }, input) {
    const result = await readFileLines(workspace, input)
    if (result.kind === 'text') return answer(result.text)
    return { content: [{ type: 'image', mimeType: result.mimeType, data: result.data }] }
  },
})

export const writeFileTool = builtinTool({
  name: 'write_file',
  description:
    'Writes a whole file, replacing what was there, and creates the folders it needs. The file is replaced in one step: it holds the old content or the new, never a part.',
  side_effect_class: 'write',
  roles: { paths: ['path'] },
  input: z.strictObject({ path, content: z.string().describe('The whole new content.') }),
  async run({ workspace }, { path, content }) {
    const written = await writeWholeFile(workspace, path, content)
    return answer(
      `${written.existed ? 'Replaced' : 'Created'} ${showPath(workspace, written.path)} (${written.bytes} bytes).`,
    )
  },
})

export const editFileTool = builtinTool({
  name: 'edit_file',
  description:
    'Replaces text in a file. old_string has to occur in the file exactly as given, white space included. If it occurs more than once, nothing is changed and the matches are counted, unless replace_all is set.',
  side_effect_class: 'write',
  roles: { paths: ['path'] },
  input: z.strictObject({
    path,
    old_string: z.string().min(1).describe('The text to replace, exactly as it is in the file, without line numbers.'),
    new_string: z.string().describe('The text to put in its place.'),
    replace_all: z.boolean().optional().describe('Replace every occurrence.'),
  }),
  async run({ workspace }, { path, old_string, new_string, replace_all }) {
    const edit = { path, oldText: old_string, newText: new_string, replaceAll: replace_all ?? false }
    const { replaced, lines } = await editFile(workspace, edit)
    return answer(
      `Replaced ${replaced} ${replaced === 1 ? 'match' : 'matches'} in ${path}, on line ${nameLines(lines)}.`,
    )
  },
})

export const listFilesTool = builtinTool({
  name: 'list_files',
  description:
    'Lists files, sorted by path. What .gitignore names, hidden files and .git are left out unless asked for. A pattern without a slash matches names at any depth.',
  side_effect_class: 'read',
  roles: { paths: ['path'] },
  input: z.strictObject({
    pattern: glob.optional().describe('A glob, such as "*.ts" or "src/**/*.test.ts"; all files if absent.'),
    path: path.optional().describe('The folder to list; the workspace if absent.'),
    hidden: z.boolean().optional().describe('List hidden files too.'),
    ignored: z.boolean().optional().describe('List files that .gitignore names too.'),
    limit: z.int().min(1).max(5000).optional().describe('How many to list; 500 if absent.'),
    offset,
  }),
  async run(tree, input, { signal, isDenied }) {
    return answer(formatFound(await listFiles(tree, { ...input, signal, isDenied }), 'No files match.', input.offset))
  },
})

export const searchTool = builtinTool({
  name: 'search',
  description:
    'Searches the contents of files with a regular expression (ripgrep syntax: no look-around, no back-references). Files that .gitignore names, hidden files, binary files and files over 16 MiB are left out. "content" gives path:line:text, "files" the paths, "count" path:matches.',
  side_effect_class: 'read',
  roles: { paths: ['path'] },
  input: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe('The expression to look for.'),
    path: path.optional().describe('The file or folder to search; the workspace if absent.'),
    glob: glob.optional().describe('Search only files whose paths match, such as "*.ts".'),
    mode: z.enum(['content', 'files', 'count']).optional().describe('What to give back; "content" if absent.'),
    literal: z.boolean().optional().describe('Take the pattern as plain text.'),
    ignore_case: z.boolean().optional(),
    multiline: z.boolean().optional().describe('Let a match span lines, and "." match newlines.'),
    context: z.int().min(0).max(20).optional().describe('Lines to show around each match, with mode "content".'),
    hidden: z.boolean().optional().describe('Search hidden files too.'),
    ignored: z.boolean().optional().describe('Search files that .gitignore names too.'),
    limit: z.int().min(1).max(2000).optional().describe('How many lines of result; 200 if absent.'),
    offset,
    timeout_ms: z.int().min(100).max(120_000).optional().describe('20000 if absent.'),
  }),
  async run(tree, { pattern, glob, mode = 'content', ignore_case, timeout_ms, ...rest }, call) {
    const request = {
      ...rest,
      expression: pattern,
      pattern: glob,
      mode,
      ignoreCase: ignore_case,
      timeoutMs: timeout_ms,
    }
    const { signal, isDenied } = call
    const found = await searchFiles(tree, { ...request, signal, isDenied })
    return answer(formatFound(found, 'Nothing matches.', rest.offset))
  },
})

function formatFound({ found, isCut, stopped }: RipgrepResult, nothing: string, offset = 0): string {
  const next = offset + found.length
  const notes = [
    ...(isCut
      ? [`[results ${offset + 1} to ${next}; there are more: narrow it, or continue with offset ${next}]`]
      : []),
    ...(stopped ? [`[stopped: ${stopped}; what was found until then is shown]`] : []),
  ]
  const lines = found.length > 0 ? found : stopped ? [] : [offset > 0 ? `Nothing from result ${next + 1} on.` : nothing]
  return [...lines, ...notes].join('\n')
}
