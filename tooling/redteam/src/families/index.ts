import type { Family } from '../attack.ts'
import { gate } from './gate.ts'
import { http } from './http.ts'
import { packageFamily } from './packages.ts'
import { proxy } from './proxy.ts'
import { repositoryFamily } from './repository.ts'
import { files, shell } from './shell.ts'
import { untrusted } from './untrusted.ts'

export const families: readonly Family[] = [shell, files, proxy, repositoryFamily, packageFamily, gate, http, untrusted]
