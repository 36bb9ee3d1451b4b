import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Copy } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { ErrorState } from '../parts/states.tsx'
import { enrol, signIn, suggestName, useSignIn } from './sign-in.ts'

export function SignInPage() {
  const { phase, error, deviceId } = useSignIn()
  if (phase === 'checking') return <p className="sr-only">Signing in…</p>

  return (
    <main className="flex h-full items-center justify-center overflow-auto p-4">
      <div className="w-full max-w-md rounded-lg border bg-surface p-6 shadow-lift">
        <p className="mb-4 flex items-center gap-2 font-semibold text-lg">
          <img src="/icon.svg" alt="" className="size-6" /> Matrix
        </p>
        {phase === 'unreachable' ? <Unreachable error={error} /> : null}
        {phase === 'no-crypto' ? <NoCrypto /> : null}
        {phase === 'unknown-device' ? <CodeForm error={error} /> : null}
        {phase === 'enrolling' ? <p role="status">Making a key for this browser…</p> : null}
        {phase === 'waiting' && deviceId ? <Waiting deviceId={deviceId} /> : null}
      </div>
    </main>
  )
}

function CodeForm({ error }: { error: unknown }) {
  const [code, setCode] = useState('')
  const [name, setName] = useState(suggestName)

  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void enrol(code, name)
      }}
    >
      <div>
        <h1 className="font-semibold text-xl">Add this browser</h1>
        <p className="mt-1 text-ink-2">
          On the machine where the daemon runs, ask for a one-time code. It is good for five minutes.
        </p>
      </div>
      <p className="flex items-center justify-between rounded-md bg-sunken py-1 pr-1 pl-3 font-mono">
        matrix device add <Copy text="matrix device add" label="Copy the command" />
      </p>
      {error ? (
        <div className="-m-4">
          <ErrorState error={error} />
        </div>
      ) : null}
      <label className="flex flex-col gap-1">
        <span className="font-medium">Code</span>
        <Field
          required
          autoFocus
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          className="font-mono uppercase tracking-widest"
          value={code}
          onChange={(event) => setCode(event.target.value)}
        />
      </label>
      <label className="flex flex-col gap-1">
        <span className="font-medium">Name of this device</span>
        <Field required maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <Button type="submit" look="primary">
        Add this browser
      </Button>
      <p className="text-ink-3 text-sm">
        A key is made here that cannot leave this browser. Nothing is typed at the next visit.
      </p>
    </form>
  )
}

function Waiting({ deviceId }: { deviceId: string }) {
  return (
    <div role="status">
      <h1 className="font-semibold text-xl">Confirm in the terminal</h1>
      <p className="mt-1 text-ink-2">
        The command there shows a fingerprint. Say yes only if it is the same as this one:
      </p>
      <p data-testid="fingerprint" className="my-4 break-all rounded-md bg-sunken p-3 font-mono text-md">
        {deviceId}
      </p>
      <p className="text-ink-3 text-sm">This page goes on by itself.</p>
    </div>
  )
}

function Unreachable({ error }: { error: unknown }) {
  return (
    <>
      <h1 className="font-semibold text-xl">The daemon does not answer</h1>
      <div className="-mx-4">
        <ErrorState error={error} onRetry={() => void signIn()} />
      </div>
    </>
  )
}

function NoCrypto() {
  return (
    <>
      <h1 className="font-semibold text-xl">Open this page another way</h1>
      <p className="mt-1 text-ink-2">
        Browsers keep keys only for pages that come encrypted or from this machine. Use http://127.0.0.1 with the same
        port, or give the daemon a certificate.
      </p>
    </>
  )
}
