import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'

export type Tab = { id: string; label: ReactNode; content: ReactNode }

type TabsProps = { label: string; tabs: Tab[]; value: string; onChange: (id: string) => void; className?: string }

/** Only the chosen tab's content is mounted. */
export function Tabs({ label, tabs, value, onChange, className }: TabsProps) {
  return (
    <Radix.Root value={value} onValueChange={onChange} className={`flex min-h-0 flex-col ${className ?? ''}`}>
      <Radix.List aria-label={label} className="flex shrink-0 gap-1 overflow-x-auto border-b px-2">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px flex h-9 items-center gap-1.5 whitespace-nowrap border-transparent border-b-2 px-2 font-medium text-ink-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="min-h-0 flex-1 overflow-auto">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
