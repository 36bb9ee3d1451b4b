import { registry } from './company-network.ts'

/** A package manager: a project that depends on one package, and how an agent installs and uses it. */
export type Manager = {
  name: string
  /** Debian packages that it needs beyond git and Node. */
  packages?: readonly string[]
  files: Readonly<Record<string, string>>
  /** In place of what `matrix init` proposes, where no file of a project names the registry. */
  hosts?: readonly string[]
  install: string
  /** Prints `says`, which only the package could have told. */
  use: string
  says: string
  /** Installs it once more in another call, from what the first left in the cache of the project. */
  again: string
  /** The same from a host that is not listed. */
  elsewhere: string
}

/** Not listed, and known to no resolver. */
export const unlisted = 'elsewhere.proving.example'

const npmFiles = {
  'package.json': '{ "name": "uses-a-package", "version": "1.0.0", "private": true }\n',
  '.gitignore': 'node_modules/\n.proving/\n',
}
const useNumber = `node -p "require('is-number')('5') ? 'five is a number' : ''"`
const berry = 'npx --yes --package=@yarnpkg/cli-dist@4.9.2 yarn'

/** The four that speak to the registry of npm or yarn do so for real; the others find a registry of their own kind. */
export const managers: readonly Manager[] = [
  {
    name: 'npm',
    files: npmFiles,
    install: 'npm install --no-audit --no-fund is-number@7.0.0',
    use: useNumber,
    says: 'five is a number',
    again: 'rm -r node_modules && npm install --offline --no-audit --no-fund',
    elsewhere: `npm install --registry=https://${unlisted}/ is-odd@3.0.1`,
  },
  {
    name: 'pnpm',
    files: npmFiles,
    install: 'npx --yes pnpm@10.34.8 add is-number@7.0.0',
    use: useNumber,
    says: 'five is a number',
    again: 'rm -r node_modules && npx --yes pnpm@10.34.8 install --offline',
    elsewhere: `npx --yes pnpm@10.34.8 add --registry=https://${unlisted}/ is-odd@3.0.1`,
  },
  {
    name: 'yarn 1',
    files: { ...npmFiles, 'yarn.lock': '' },
    install: 'npx --yes yarn@1.22.22 add is-number@7.0.0',
    use: useNumber,
    says: 'five is a number',
    again: 'rm -r node_modules && npx --yes yarn@1.22.22 install --offline',
    elsewhere: `npx --yes yarn@1.22.22 add --registry https://${unlisted}/ is-odd@3.0.1`,
  },
  {
    name: 'yarn 4',
    files: {
      ...npmFiles,
      '.yarnrc.yml': 'enableTelemetry: false\n',
      '.gitignore': '.yarn/\n.pnp.*\n.proving/\n',
      'yarn.lock': '',
    },
    install: `${berry} add is-number@7.0.0`,
    use: `${berry} ${useNumber}`,
    says: 'five is a number',
    again: `rm -f .pnp.* && YARN_ENABLE_NETWORK=0 ${berry} install`,
    elsewhere: `YARN_NPM_REGISTRY_SERVER=https://${unlisted} ${berry} add is-odd@3.0.1`,
  },
  {
    name: 'pip',
    packages: ['python3', 'python3-venv'],
    files: {
      'requirements.txt': `--index-url http://${registry}/simple\n--trusted-host ${registry}\ngreeting==1.0.0\n`,
      '.gitignore': '.venv/\n.proving/\n',
    },
    install: `/usr/bin/python3 -m venv .venv && .venv/bin/pip install -r requirements.txt`,
    use: '.venv/bin/python -c "import greeting; print(greeting.greet())"',
    says: 'hello from pip',
    again: `.venv/bin/pip uninstall --yes greeting && .venv/bin/pip install -r requirements.txt | grep 'Using cached'`,
    elsewhere: `.venv/bin/pip install --index-url https://${unlisted}/simple other`,
  },
  {
    name: 'cargo',
    packages: ['cargo'],
    files: {
      'Cargo.toml':
        '[package]\nname = "uses-a-package"\nversion = "1.0.0"\nedition = "2018"\n\n[dependencies]\ngreeting = "1"\n',
      'src/main.rs': 'fn main() {\n    println!("{}", greeting::greet());\n}\n',
      '.cargo/config.toml': `[source.crates-io]\nreplace-with = "company"\n\n[source.company]\nregistry = "sparse+http://${registry}/cargo/"\n`,
      '.gitignore': 'target/\nCargo.lock\n.proving/\n',
    },
    install: 'cargo fetch',
    use: 'cargo run --quiet',
    says: 'hello from cargo',
    again: 'rm -rf target Cargo.lock && cargo fetch --offline',
    elsewhere: `cargo --config 'source.company.registry="sparse+https://${unlisted}/"' add other`,
  },
  {
    name: 'go',
    packages: ['golang-go'],
    files: {
      'go.mod': 'module proving.example/uses-a-package\n\ngo 1.19\n\nrequire proving.example/greeting v1.0.0\n',
      'main.go':
        'package main\n\nimport (\n\t"fmt"\n\n\t"proving.example/greeting"\n)\n\nfunc main() { fmt.Println(greeting.Greet()) }\n',
      '.gitignore': 'go.sum\n.proving/\n',
    },
    hosts: [`${registry}:80`],
    install: `GOPROXY=http://${registry}/go GONOSUMDB='*' GOFLAGS=-mod=mod go mod download`,
    use: `GOPROXY=off GONOSUMDB='*' GOFLAGS=-mod=mod go run .`,
    says: 'hello from go',
    again: `GOPROXY=off GONOSUMDB='*' GOFLAGS=-mod=mod go mod download`,
    elsewhere: `GOPROXY=https://${unlisted} GONOSUMDB='*' go get proving.example/other@v1.0.0`,
  },
]
