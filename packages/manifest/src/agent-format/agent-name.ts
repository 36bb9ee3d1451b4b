import type { Problem } from '../document/finding.ts'
import { quoteText } from '../document/quoted-text.ts'

const MAX_LENGTH = 64

/** Names that already mean something else wherever an agent can be named: tool prefixes, Matrix itself, senders of messages. */
const reserved = ['builtin', 'native', 'mxd', 'matrix', 'user', 'task', 'system', 'all', 'none']

/** Windows opens a device for these, whatever extension follows and however they are written. */
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i

/** Names become file names, branch names and URIs, so that they must be good for all three everywhere. */
export function checkAgentName(name: string): Problem[] {
  const complaint = complaintAbout(name)
  if (complaint)
    return [
      {
        rule: 'MX026',
        path: ['name'],
        message: `The name ${quoteText(name)} ${complaint}.`,
        fix: `Use up to ${MAX_LENGTH} letters, digits and "-", starting with a letter or digit.`,
      },
    ]
  return name.includes('_')
    ? [
        {
          rule: 'MX026',
          severity: 'warning',
          path: ['name'],
          message: `The name ${quoteText(name)} holds "_", which not every program accepts.`,
          fix: `Write ${quoteText(name.replaceAll('_', '-'))}.`,
        },
      ]
    : []
}

function complaintAbout(name: string): string | undefined {
  if (name === '') return 'is empty'
  const [base = ''] = name.split(/[.:]/, 1)
  if (device.test(base.trim())) return 'is the name of a device on Windows'
  if (reserved.includes(name.toLowerCase())) return 'is reserved'
  if ([...name].length > MAX_LENGTH) return `has ${[...name].length} characters; ${MAX_LENGTH} are allowed`
  if (!/^[A-Za-z0-9_-]+$/.test(name)) return 'holds other characters than ASCII letters, digits and "-"'
  return /^[A-Za-z0-9]/.test(name) ? undefined : 'does not start with a letter or digit'
}
