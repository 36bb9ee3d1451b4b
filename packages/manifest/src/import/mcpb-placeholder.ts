import { isRecord, type JsonRecord, own, scalarText } from '../document/json-record.ts'
import type { Path } from '../document/source-text.ts'
import { isSecretName } from '../manifest/credential.ts'
import type { Piece } from './manifest-draft.ts'
import { environmentGap, type Gap, parseTemplate, type Template, variableName } from './template.ts'

const placeholder = /\$\{([^{}]*)\}/
const wholeConfig = /^\$\{user_config\.([^{}]*)\}$/

const bundleDirectory: Gap = { key: 'bundle', variable: 'DIRECTORY', naming: 'own' }

export function isBundleDirectory(part: string | Gap): boolean {
  return part === bundleDirectory
}

/** A value of a bundle's file; what the installing program would fill in is a gap. */
export function piece(text: string, path: Path, bundle: JsonRecord): Piece {
  return { template: parseTemplate(text, placeholder, (expression) => fillExpression(expression, bundle)), path }
}

/** A setting that is a list stands for several arguments, and an optional one without a value for none. */
export function configParts(text: string, path: Path, bundle: JsonRecord): Piece[] {
  const key = wholeConfig.exec(text)?.[1]
  const option = key === undefined ? undefined : own(own(bundle, 'user_config'), key)
  if (key === undefined || !isRecord(option)) return [piece(text, path, bundle)]
  const preset = own(option, 'default')
  if (isSensitive(key, option) && preset !== undefined) return [piece(text, path, bundle)]
  if (Array.isArray(preset)) return preset.map((each) => piece(scalarText(each) ?? '', path, bundle))
  return scalarText(preset) === undefined && own(option, 'required') !== true ? [] : [piece(text, path, bundle)]
}

function fillExpression(expression: string, bundle: JsonRecord): Template {
  if (expression === '/' || expression === 'pathSeparator') return ['/']
  if (expression === 'HOME') return [environmentGap('HOME')]
  if (expression === '__dirname') return [bundleDirectory]
  const key = /^user_config\.(.*)$/s.exec(expression)?.[1]
  if (key === undefined) return [systemGap(expression)]
  const option = own(own(bundle, 'user_config'), key)
  const preset = scalarText(own(option, 'default'))
  if (preset === undefined || isSensitive(key, option)) return [configGap(key)]
  return parseTemplate(preset, placeholder, (inner) =>
    inner === 'HOME' ? [environmentGap('HOME')] : [systemGap(inner)],
  )
}

function configGap(key: string): Gap {
  return { key: `user_config.${key}`, variable: variableName(key), naming: 'own' }
}

/** `${DESKTOP}`, `${DOCUMENTS}`, `${DOWNLOADS}`: folders that differ from person to person. */
function systemGap(expression: string): Gap {
  return { key: `system:${expression}`, variable: `${variableName(expression)}_DIRECTORY`, naming: 'shared' }
}

function isSensitive(key: string, option: unknown): boolean {
  return own(option, 'sensitive') === true || isSecretName(key)
}
