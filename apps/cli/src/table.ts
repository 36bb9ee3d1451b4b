import { fitWidth, padWidth, textWidth } from './text-width.ts'

export type Column = {
  /** Left out of the heading line when empty. */
  heading: string
  align?: 'left' | 'right'
  /** Gives way when the line is too long; at most one column does. */
  flexible?: boolean
}

const GAP = '  '

/** Rows under headings, as wide as they need to be; the flexible column is cut so that a line fits. */
export function formatTable(columns: readonly Column[], rows: readonly string[][], width: number): string[] {
  const all = columns.some(({ heading }) => heading !== '') ? [columns.map(({ heading }) => heading), ...rows] : rows
  const widths = columns.map((_, index) => Math.max(0, ...all.map((row) => textWidth(row[index] ?? ''))))
  const flexible = columns.findIndex((column) => column.flexible)
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1)
  if (flexible >= 0 && total > width)
    widths[flexible] = Math.max(minimumWidth, (widths[flexible] ?? 0) - (total - width))
  return all.map((row) => formatRow(columns, widths, row))
}

const minimumWidth = 12

function formatRow(columns: readonly Column[], widths: readonly number[], row: readonly string[]): string {
  return columns
    .map(({ align, flexible }, index) => {
      const width = widths[index] ?? 0
      const text = flexible ? fitWidth(row[index] ?? '', width) : (row[index] ?? '')
      return align === 'right' ? `${' '.repeat(Math.max(0, width - textWidth(text)))}${text}` : padWidth(text, width)
    })
    .join(GAP)
    .trimEnd()
}
