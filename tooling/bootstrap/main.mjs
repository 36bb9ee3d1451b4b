// The only syntax here is what Node 12 can read, so that an old Node gets a sentence instead of a SyntaxError.
import { checkNode } from './node-version.mjs'

const problem = checkNode(process.versions.node)

if (problem) {
  console.error(problem)
  process.exitCode = 1
} else {
  import('./bootstrap.mjs')
    .then(({ bootstrap }) => bootstrap(process.argv.slice(2)))
    .catch((error) => {
      console.error(error.message)
      process.exitCode = 1
    })
}
