/** Which files are flagged at review, and why. Each rule that matches gives a reason. */
export type FlagRule = {
  /**
   * Names at any depth, in lower case. `*` stands for any characters but a slash; a slash at the end means everything in the
   * folder.
   */
  paths: readonly string[]
  /** A sentence for the reviewer: who runs it, and when. */
  reason: string
  /** Only where a line that was added or removed matches. */
  lines?: RegExp
  /** Only where a line that was added or removed does not match. */
  unlessLines?: RegExp
  /** Only where the JSON value at one of these keys (`a.b`) differs. */
  keys?: readonly string[]
  /** Only where one of these JSON objects has a new value that is no version, such as the address of a repository. */
  sources?: readonly string[]
  /** Only where lines that match name a host that was not named before. */
  hosts?: RegExp
}

function words(text: TemplateStringsArray): string[] {
  return text.join('').trim().split(/\s+/)
}

export const flagRules: readonly FlagRule[] = [
  {
    paths: words`
      .vscode/ *.code-workspace .vs/ .idea/ .fleet/ .zed/ .theia/ *.sublime-project *.iml .project`,
    reason: 'Editors run tasks and programs named here when the folder is opened.',
  },
  {
    paths: words`
      .vimrc .exrc .nvimrc .nvim.lua _vimrc _exrc .lvimrc .vim/ .dir-locals.el .dir-locals-2.el .emacs.d/ .helix/
      .gdbinit .lldbinit .pdbrc .pryrc .irbrc`,
    reason: 'Editors and debuggers run this file when they start in its folder.',
  },
  {
    paths: words`
      eslint.config.* .eslintrc .eslintrc.* prettier.config.* .prettierrc .prettierrc.* stylelint.config.*
      .stylelintrc .stylelintrc.* .flowconfig biome.jsonc .rubocop.yml .pylintrc pylintrc`,
    lines: /\b(require|import|plugins?|extends|parser|exec|spawn|process|module|export|init-hook|load-plugins)\b/,
    reason: 'Editors load the code and plugins that this linter configuration names while files are open.',
  },
  {
    paths: words`
      .envrc .env.zsh .autoenv .autoenv.zsh .mise.toml mise.toml .mise.*.toml mise.*.toml .mise/ .rtx.toml
      devenv.nix devenv.yaml flake.nix shell.nix devbox.json .bashrc .bash_profile .profile .zshrc .zshenv
      .inputrc .tmux.conf .screenrc`,
    reason: 'A shell can run this file when its folder is entered.',
  },
  {
    paths: words`.env .env.* *.env`,
    lines:
      /^\s*(export\s+)?(PATH|NODE_|NPM_|npm_|LD_|DYLD_|PYTHON|BASH_ENV|ENV\b|PERL|RUBY|GIT_|JAVA_|_JAVA|JDK_|EDITOR|VISUAL|PAGER|SHELL|IFS|PROMPT_COMMAND|GO[A-Z]*FLAGS|RUSTC|CARGO|MXD_|MATRIX_|HTTPS?_PROXY|ALL_PROXY|SSL_|ANTHROPIC_BASE|OPENAI_BASE)/i,
    reason: 'It sets a variable that makes programs load other code or connect elsewhere.',
  },
  {
    paths: words`
      .devcontainer/ .devcontainer.json .gitpod.yml .gitpod.dockerfile .idx/ .replit replit.nix .codesandbox/
      .stackblitzrc .codespaces/ .ona/ .docksal/ .lando.yml`,
    reason: 'A development environment runs its commands when the repository is opened.',
  },
  {
    paths: words`
      .husky/ .githooks/ .git-hooks/ githooks/ .lefthook/ lefthook*.yml lefthook*.yaml lefthook*.toml
      lefthook*.json .lefthook*.yml .lefthook*.yaml .lefthook*.toml .lefthook*.json .pre-commit-config.yaml
      .pre-commit-hooks.yaml .overcommit.yml captainhook.json grumphp.yml .huskyrc* husky.config.*
      .simple-git-hooks.* simple-git-hooks.* .lintstagedrc* lint-staged.config.* .commitlintrc*
      commitlint.config.* .cz.toml .czrc prek.toml`,
    reason: 'Git runs it when a user commits, merges or pushes.',
  },
  {
    paths: words`.gitattributes`,
    unlessLines:
      /^\s*(#.*)?$|^[^\s"]+(\s+[-!]?(text|eol|binary|crlf|ident|whitespace|delta|encoding|export-ignore|export-subst|conflict-marker-size|linguist-[\w-]+|gitlab-[\w-]+)(=\S+)?)*\s*$/,
    reason: 'It decides which filters, diff and merge programs git runs on which files.',
  },
  { paths: words`.gitmodules`, reason: 'It names other repositories, which git fetches into this one.' },
  {
    paths: words`.gitconfig .lfsconfig .gitreview .jj/ .hgsub .hg/ .svn/`,
    reason: 'It holds settings of a version control program, which can name programs and hosts.',
  },
  {
    paths: words`
      .github/workflows/ .github/actions/ action.yml action.yaml .gitlab-ci*.yml .gitlab-ci*.yaml .gitlab/
      .circleci/ azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines/ .azuredevops/ .pipelines/
      bitbucket-pipelines.yml jenkinsfile jenkinsfile.* *.jenkinsfile .jenkins/ .travis.yml appveyor.yml
      .appveyor.yml .drone.yml .drone.yaml .drone.star .drone.jsonnet .woodpecker.yml .woodpecker.yaml
      .woodpecker/ .buildkite/ .teamcity/ .cirrus.yml .cirrus.star .semaphore/ .forgejo/ .gitea/ wercker.yml
      cloudbuild*.yaml cloudbuild*.yml cloudbuild*.json buildspec*.yml buildspec*.yaml netlify.toml vercel.json
      render.yaml amplify.yml codefresh.yml .codefresh/ .build.yml .build.yaml .builds/ screwdriver.yaml .ci/
      .tekton/ .argo/ .harness/ .dagger/ .earthly/ renovate.json renovate.json5 .renovaterc .renovaterc.json
      .readthedocs.yml .readthedocs.yaml readthedocs.yml .github/dependabot.yml .github/dependabot.yaml
      .github/codeowners codeowners .mergify.yml .bazelci/ .prow.yaml .zuul.yaml .zuul.d/ zuul.yaml .packit.yaml
      .copr/`,
    reason: 'A CI service runs it, or obeys it, once it is pushed.',
  },
  {
    paths: words`
      agents.md agents.*.md agent.md claude.md claude.*.md gemini.md codex.md qwen.md warp.md crush.md
      .cursorrules .windsurfrules .clinerules .clinerules/ .goosehints .rules .github/copilot-instructions.md
      .github/instructions/ .github/prompts/ .github/agents/ .github/chatmodes/ .github/skills/ .mxd/memory.md
      skill.md llms.txt`,
    reason: 'Coding agents take it as instructions.',
  },
  {
    paths: words`
      .mxd/ .mcp.json mcp.json .mcp/ .claude/ .claude.json .claude-plugin/ .cursor/ .windsurf/ .codex/ .gemini/
      .opencode/ opencode.json opencode.jsonc .roo/ .roomodes .kiro/ .amazonq/ .continue/ .continuerc.json
      .aider.conf.yml .aider.* .junie/ .goose/ .trae/ .augment/ .agents/ .agent/ .factory/ .crush.json crush.json
      .qwen/ .vibe/ .pi/ .amp/ .warp/ .sourcegraph/ .cody/ .tabnine/ .openhands/ .devin/ .cline/ .kilocode/
      .kilocodemodes .zencoder/`,
    reason: 'Coding agents load settings, tool servers, hooks and commands from it.',
  },
  {
    paths: words`package.json package.json5 package.yaml`,
    keys: [
      'scripts',
      'husky',
      'simple-git-hooks',
      'lint-staged',
      'pre-commit',
      'pre-push',
      'gitHooks',
      'ghooks',
      'commitlint',
      'eslintConfig',
      'prettier',
      'gypfile',
      'packageManager',
      'devEngines',
      'pnpm',
      'trustedDependencies',
      'allowScripts',
      'lavamoat',
      'resolutions',
      'overrides',
      'volta',
      'config',
    ],
    reason:
      'Its scripts, hooks or package manager settings change: they run code during an install, a commit or a test run.',
  },
  {
    paths: words`package.json package.json5 package.yaml`,
    sources: ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies'],
    reason: 'It takes a dependency from outside the package registry.',
  },
  {
    paths: words`
      .npmrc .yarnrc .yarnrc.yml .yarn/ .pnpmfile.cjs .pnpmfile.mjs pnpmfile.js pnpmfile.cjs .pnp.cjs
      .pnp.loader.mjs bunfig.toml .bunfig.toml .npmignore.js .corepack.env binding.gyp *.gypi lerna.json`,
    reason: 'A package manager obeys or runs it during an install.',
  },
  {
    paths: words`pnpm-workspace.yaml`,
    lines: /pnpmfile|build|script|config|patch|override|node|registr|trust|\\[ux]|!!|<<|[&*]\w/i,
    reason: 'It changes which code pnpm runs or fetches during an install.',
  },
  {
    paths: words`
      package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock deno.lock cargo.lock poetry.lock
      uv.lock pdm.lock pipfile.lock gemfile.lock pixi.lock`,
    hosts: /resolved|resolution|tarball|repo:|^\s*source\b|registry|remote:|\burl\b\s*[=:]|index|"\S+@\S+":/,
    reason: 'The lock file names a host that it did not name before: packages come from there.',
  },
  {
    paths: words`
      setup.py conftest.py sitecustomize.py usercustomize.py *.pth .pythonrc pythonstartup.py .ipython/
      hatch_build.py pip.conf pip.ini .pypirc pyodide-build.yaml`,
    reason: 'Python, pip or pytest runs it by itself, during an install, a start or a test run.',
  },
  {
    paths: words`
      pyproject.toml setup.cfg pytest.ini tox.ini hatch.toml requirements*.txt constraints*.txt pipfile uv.toml
      pdm.toml`,
    lines:
      /build-backend|backend-path|build-system|\[build|cmdclass|entry[-_.]points|addopts|plugins|hooks?\b|index|find-links|trusted-host|@\s*(git|https?|file)|git\+|https?:|file:|^\s*(-[ef]|--)|\\[uUx]/i,
    reason: 'It changes which code runs during a build, an install or a test run, or where packages come from.',
  },
  {
    paths: words`build.rs .cargo/ rust-toolchain rust-toolchain.toml clippy.toml .clippy.toml`,
    reason: 'Cargo runs or obeys it in every build; editors build when the folder is opened.',
  },
  {
    paths: words`cargo.toml`,
    lines: /\bbuild\b|proc-macro|\blinks\b|\bgit\b|registry|\bpath\b|patch|replace|\\[uU]/,
    reason: 'It changes which code runs during a build, or where packages come from.',
  },
  {
    paths: words`go.mod go.work`,
    lines: /^\s*(replace|toolchain|tool)\b|=>/,
    reason: 'It changes the toolchain, or where modules come from.',
  },
  {
    paths: words`gemfile *.gemspec extconf.rb .rspec .bundle/ .solargraph.yml podfile *.podspec`,
    reason: 'Ruby runs it during an install or a test run.',
  },
  {
    paths: words`composer.json`,
    keys: ['scripts', 'repositories', 'config', 'extra'],
    reason: 'Composer runs its scripts and plugins during an install.',
  },
  {
    paths: words`.htaccess .user.ini php.ini .php-cs-fixer.php .php-cs-fixer.dist.php`,
    reason: 'PHP or the web server loads it by itself.',
  },
  {
    paths: words`
      build.gradle build.gradle.kts settings.gradle settings.gradle.kts init.gradle* gradle/wrapper/ buildsrc/
      gradlew gradlew.bat gradle.properties mvnw mvnw.cmd .mvn/ *.sbt project/build.properties deps.edn
      project.clj .bazelrc module.bazel workspace.bazel .bsp/ .scala-build/`,
    reason: 'A build tool runs or obeys it, also when an editor opens the folder.',
  },
  {
    paths: words`
      directory.build.props directory.build.targets directory.build.rsp directory.packages.props nuget.config
      global.json dotnet-tools.json *.csproj.user`,
    reason: 'The .NET tools load it in every build, also when an editor opens the folder.',
  },
  {
    paths: words`*.csproj *.vbproj *.fsproj *.vcxproj *.props *.targets *.proj`,
    lines: /<\s*(Exec|UsingTask|Import|Target|Sdk|InlineTask)\b|(Pre|Post)(Build|Link)|Command>|&#/i,
    reason: 'It runs commands in a build, also when an editor opens the folder.',
  },
  {
    paths: words`
      cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json meson.build configure.ac dub.json mix.exs
      rebar.config package.swift build.zig build.sbt`,
    lines:
      /execute_process|externalproject|fetchcontent|download|run_command|m4_esyscmd|system\s*\(|os\.cmd|command|process|spawn|exec|plugin|macro/i,
    reason: 'It runs commands when the build is configured; some editors do so when the folder is opened.',
  },
  {
    paths: words`
      autorun.inf desktop.ini *.desktop *.lnk *.url *.scf *.library-ms *.searchconnector-ms *.webloc *.command`,
    reason: 'A file manager can act on it when the folder is shown.',
  },
  {
    paths: words`
      *.exe *.com *.scr *.msi *.dll *.so *.so.* *.dylib *.node *.jar *.war *.class *.pyc *.pyd *.wasm *.apk *.app/
      *.vsix *.crx *.xpi *.whl *.gem *.nupkg *.deb *.rpm *.mcpb *.dxt`,
    reason: 'It is compiled or packed code, which cannot be read here.',
  },
]
