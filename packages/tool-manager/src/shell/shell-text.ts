import type { Command, ParsedScript, SyntaxNode, Word, WordPart } from 'unbash'
import { findInner } from './wrapped-command.ts'

/** A part of a word, or `undefined` where only the shell knows what stands there: a variable, a substitution, a pattern. */
export type Piece = string | undefined

/** One command as its program gets it: words without quotes. Assignments in front of it are its first words. */
export type SimpleCommand = {
  words: Piece[][]
  /** A wrapper that does nothing but run the command inside, such as `timeout`. */
  isTransparent?: boolean
}

/** Every command that a text can run, at whatever depth, and what cannot be told from the text. */
export type ShellText = {
  text: string
  commands: SimpleCommand[]
  /** Why some of what runs is not visible. */
  unknown?: string
  /** Whether it opens files by redirection. */
  hasFiles: boolean
}

type Parser = typeof import('unbash')

let parser: Promise<Parser> | undefined

/** Takes a text apart as bash does. The parser is loaded when the first rule about commands is met. */
export async function parseShellText(text: string): Promise<ShellText> {
  parser ??= import('unbash')
  return readShellText(await parser, text, 0)
}

/** Deep enough for anything that a person writes. */
const MAX_DEPTH = 16

function readShellText(unbash: Parser, text: string, depth: number): ShellText {
  const found: ShellText = { text, commands: [], hasFiles: false }
  const doubt = (reason: string) => {
    found.unknown ??= reason
  }
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Script' && (node as ParsedScript).errors?.length) doubt('it is not well-formed')
    const reason = doubtAbout(node)
    if (reason) doubt(reason)
    if (node.type === 'Redirect' && !isHarmless(node.operator, node.target)) found.hasFiles = true
    if (node.type === 'Command') readCommand(node)
    unbash.forEachChild(node, visit)
  }
  const readCommand = (node: Command): void => {
    const command: SimpleCommand = { words: wordsOf(node) }
    if (command.words.length > 0) readWords(command, 0)
  }
  const readWords = (command: SimpleCommand, nesting: number): void => {
    found.commands.push(command)
    const inner = nesting > MAX_DEPTH ? { kind: 'unknown' as const } : findInner(command.words)
    if (!inner) return
    if (inner.kind === 'unknown') {
      doubt('it runs something that the text does not show')
      return
    }
    if (inner.isTransparent) command.isTransparent = true
    if (inner.kind === 'words') for (const words of inner.commands) readWords({ words }, nesting + 1)
    else if (depth >= MAX_DEPTH) doubt('it is nested too deep')
    else {
      const nested = readShellText(unbash, inner.text, depth + 1)
      found.commands.push(...nested.commands)
      found.hasFiles ||= nested.hasFiles
      if (nested.unknown) doubt(nested.unknown)
    }
  }
  // bash ends or warns at a NUL, where a parser reads on.
  if (text.includes('\0')) doubt('it holds a NUL')
  else visit(unbash.parse(text))
  return found
}

/** Constructs in which bash evaluates the value of a variable as code, or changes a variable that programs obey. */
function doubtAbout(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      return node.script ? undefined : 'a substitution cannot be read'
    case 'ArithmeticWord':
      return /^\d+$/.test(node.value) ? undefined : 'arithmetic can run what a variable holds'
    case 'ParameterExpansion':
      return isPlainExpansion(node) ? undefined : 'an expansion can run what a variable holds'
    case 'TestBinary':
      return /^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator) ? 'a comparison can run what a variable holds' : undefined
    case 'TestUnary':
      return /^-[vR]$/.test(node.operator) ? 'a test can run what a variable holds' : undefined
    case 'For':
    case 'Select':
      return /^[a-z]+$/.test(node.name.text) ? undefined : 'a loop sets a variable that programs may obey'
    case 'FileDescriptorVariable':
      return 'a redirection sets a variable'
    default:
      return undefined
  }
}

function isPlainExpansion({ prefix, index, operation }: Extract<SyntaxNode, { type: 'ParameterExpansion' }>): boolean {
  const isIndexed = index !== undefined && !/^(?:[@*]|\d+)$/.test(index.text)
  const runsOrSets =
    operation !== undefined &&
    (['Transform', 'Slice', 'Unknown'].includes(operation.type) || ['=', ':='].includes(operation.operator))
  return prefix !== '!' && !isIndexed && !runsOrSets
}

function isHarmless(operator: string, target: Word | undefined): boolean {
  if (!target || target.parts) return false
  const isDuplicate = (operator === '>&' || operator === '<&') && /^(?:\d+-?|-)$/.test(target.value)
  return isDuplicate || /^\/dev\/(?:null|stdout|stderr|stdin)$/.test(target.value)
}

function wordsOf({ prefix, name, args }: Command): Piece[][] {
  const assigned = prefix.filter((each) => each.type === 'Assignment')
  const words = [...assigned, ...(name ? [name] : []), ...args]
  return words.map((word) => (word.type === 'Word' ? piecesOf(word) : assignmentPieces(word)))
}

function assignmentPieces({ text, value }: Extract<Command['args'][number], { type: 'Assignment' }>): Piece[] {
  if (value?.type !== 'Word') return [undefined]
  return [text.slice(0, text.length - value.text.length), ...piecesOf(value)]
}

function piecesOf({ value, parts }: Word): Piece[] {
  return parts ? parts.flatMap(partPieces) : [value]
}

function partPieces(part: WordPart): Piece[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [part.value]
    case 'DoubleQuoted':
      return part.parts.flatMap(partPieces)
    default:
      return [undefined]
  }
}
