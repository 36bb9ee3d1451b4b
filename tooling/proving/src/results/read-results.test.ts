import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Results } from './outcome.ts'
import { readers } from './read-results.ts'

const plain = (results: Results) => Object.fromEntries(results)

test('TAP names a subtest after its parent, and leaves out what stands in a diagnosis', () => {
  const log = [
    'TAP version 13',
    '# Subtest: listens',
    '    # Subtest: by name',
    '    ok 1 - by name',
    '      ---',
    '      error: |-',
    '        not ok 9 - printed by the test',
    '      ...',
    '    not ok 2 - by socket',
    '    1..2',
    'not ok 1 - listens',
    'ok 2 - closes # SKIP needs a terminal',
    'ok 3 - twice',
    'ok 4 - twice',
    '1..4',
  ]

  expect(plain(readers.tap(log.join('\n')))).toEqual({
    'listens > by name': ['passed'],
    'listens > by socket': ['failed'],
    listens: ['failed'],
    closes: ['skipped'],
    twice: ['passed', 'passed'],
  })
})

test('a TAP run that is cut off keeps the tests that ended', () => {
  expect(plain(readers.tap('    ok 1 - inner\nok 1 - outer\n    ok 1 - last'))).toEqual({
    'outer > inner': ['passed'],
    outer: ['passed'],
    last: ['passed'],
  })
})

test('pytest is read from its summary, not from what tests print', () => {
  const log = [
    'PASSED tests/test_fake.py::test_printed',
    '=========================== short test summary info ============================',
    'PASSED tests/test_a.py::test_one[x - y]',
    'SKIPPED [2] tests/test_a.py:10: needs a display',
    'XFAIL tests/test_a.py::test_known',
    "FAILED tests/test_a.py::test_two - AssertionError: assert 'a' == 'b'",
    'ERROR tests/test_b.py',
  ]

  expect(plain(readers.pytest(log.join('\n')))).toEqual({
    'tests/test_a.py::test_one[x - y]': ['passed'],
    'tests/test_a.py:10 (2 skipped)': ['skipped'],
    'tests/test_a.py::test_known': ['passed'],
    'tests/test_a.py::test_two': ['failed'],
    'tests/test_b.py': ['failed'],
  })
})

test('unittest has one name for a test, whichever Python prints it', () => {
  const older = 'test_keys (tests.keys.TestKeys) ... ok\ntest_pool (tests.pool.TestPool) ... ERROR'
  const newer = "test_keys (tests.keys.TestKeys.test_keys) ... ok\ntest_x (t.X.test_x) ... skipped 'no server'"

  expect(plain(readers.unittest(older))).toEqual({
    'tests.keys.TestKeys.test_keys': ['passed'],
    'tests.pool.TestPool.test_pool': ['failed'],
  })
  expect(plain(readers.unittest(newer))).toEqual({
    'tests.keys.TestKeys.test_keys': ['passed'],
    't.X.test_x': ['skipped'],
  })
})

test('cargo tests are told apart by the binary they are in', () => {
  const log = [
    '     Running unittests src/main.rs (target/debug/deps/rg-1f2e)',
    'test args::parses ... ok',
    '     Running tests/tests.rs (target/debug/deps/integration-99ab)',
    'test args::parses ... FAILED',
    'test slow ... ignored, takes an hour',
    'test result: FAILED. 1 passed; 1 failed',
  ]

  expect(plain(readers.cargo(log.join('\n')))).toEqual({
    'src/main.rs args::parses': ['passed'],
    'tests/tests.rs args::parses': ['failed'],
    'tests/tests.rs slow': ['skipped'],
  })
})

test('go events count when a test or a package ends', () => {
  const log = [
    '{"Action":"run","Package":"example.com/a","Test":"TestOne"}',
    '{"Action":"output","Package":"example.com/a","Output":"not {json"}',
    '{"Action":"pass","Package":"example.com/a","Test":"TestOne","Elapsed":0}',
    '{"Action":"skip","Package":"example.com/a","Test":"TestTwo"}',
    'FAIL\texample.com/b [build failed]',
    '{"Action":"fail","Package":"example.com/b","Elapsed":0}',
    '{cut off',
  ]

  expect(plain(readers.go(log.join('\n')))).toEqual({
    'example.com/a TestOne': ['passed'],
    'example.com/a TestTwo': ['skipped'],
    'example.com/b': ['failed'],
  })
})

test('ctest, Automake and zlib end each test with a line', () => {
  const ctest = [
    '      Start  1: parses',
    ' 1/3 Test  #1: parses ...........................   Passed    0.00 sec',
    ' 2/3 Test  #2: prints ...........................***Failed    0.00 sec',
    ' 3/3 Test  #3: crashes ..........................***Exception: SegFault  0.01 sec',
  ]
  const automake = 'PASS: test_array\nXFAIL: test_known\nFAIL: run-suites\nSKIP: scripts/clang-format-check\n# PASS:  1'
  const stars = '\t\t*** zlib shared test OK ***\n\t\t*** zlib 64-bit test FAILED ***'

  expect(plain(readers.ctest(ctest.join('\n')))).toEqual({
    parses: ['passed'],
    prints: ['failed'],
    crashes: ['failed'],
  })
  expect(plain(readers.automake(automake))).toEqual({
    test_array: ['passed'],
    test_known: ['passed'],
    'run-suites': ['failed'],
    'scripts/clang-format-check': ['skipped'],
  })
  expect(plain(readers.stars(stars))).toEqual({ 'zlib shared test': ['passed'], 'zlib 64-bit test': ['failed'] })
})

test('a file that Vitest cannot load fails, and the report stands after other output', () => {
  const testResults = [
    { name: './a.test.ts', status: 'passed', assertionResults: [{ fullName: 'adds', status: 'passed' }] },
    { name: './b.test.ts', status: 'failed', assertionResults: [] },
    { name: './c.test.ts', status: 'passed', assertionResults: [{ fullName: 'later', status: 'pending' }] },
  ]

  expect(plain(readers.jest(`npm warn old\n${JSON.stringify({ testResults })}\n`))).toEqual({
    './a.test.ts adds': ['passed'],
    './b.test.ts': ['failed'],
    './c.test.ts later': ['skipped'],
  })
})

test('no reader fails on output that it does not know, and none takes it for tests', () => {
  const noise = fc
    .array(fc.string().filter((line) => !/ok|pass|fail|test|\*|\{/i.test(line)))
    .map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(noise, fc.constantFrom(...Object.values(readers)), (log, read) => {
      expect(read(log).size).toBe(0)
    }),
  )
})

test('TAP outcomes do not depend on the order in which files end', () => {
  const point = fc.tuple(fc.boolean(), fc.constantFrom('opens', 'closes', 'reads'))
  fc.assert(
    fc.property(fc.array(point), (points) => {
      const lines = points.map(([isOk, name], index) => `${isOk ? 'ok' : 'not ok'} ${index + 1} - ${name}`)
      const sorted = (log: string[]) =>
        Object.fromEntries([...readers.tap(log.join('\n'))].map(([name, outcomes]) => [name, outcomes.toSorted()]))
      expect(sorted(lines.toReversed())).toEqual(sorted(lines))
    }),
  )
})
