import type { ResultFormat } from './results/read-results.ts'

/** One public project: where it comes from, how it is set up and tested, and what an agent does in it. */
export type Project = {
  name: string
  language: 'JavaScript' | 'TypeScript' | 'Python' | 'C' | 'Rust' | 'Go'
  /** An npm package with its version, or a source package of the Debian release that this machine runs. */
  source: { npm: string } | { debian: string }
  /** Debian packages that it needs beyond git and Node. */
  packages?: readonly string[]
  /** Run once before the first commit, where the published files lack something that the tests need. */
  layout?: string
  /** What the setup and the tests leave behind, for .gitignore. */
  ignored?: readonly string[]
  setup?: string
  test: string
  format: ResultFormat
  /** The file that the agent edits, text that stands there once, and the tests that it runs then. */
  job: { file: string; text: string; test: string }
  /** Tests that may differ, by a part of their name. */
  differences?: readonly { tests: string; why: string }[]
  /** Among the few that every change is checked with. */
  quick?: true
  /** Among those on which the way from a clone to the first agent is measured. */
  isFirst?: true
}
