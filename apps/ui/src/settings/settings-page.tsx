import { useNavigate, useSearch } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { AgentsSection } from './agents-section.tsx'
import { ConfigSection } from './config-section.tsx'
import { DaemonSection } from './daemon-section.tsx'
import { DevicesSection } from './devices-section.tsx'
import { LookSection } from './look-section.tsx'

export function SettingsPage() {
  const { section = 'config', projectId } = useSearch({ strict: false })
  const navigate = useNavigate()
  const go = (to: string) =>
    void navigate({ to: '/settings', search: { section: to, ...(projectId ? { projectId } : {}) }, replace: true })

  return (
    <Page title="Settings">
      <Tabs
        label="Settings"
        className="h-full"
        value={section}
        onChange={go}
        tabs={[
          { id: 'config', label: 'Matrix', content: <ConfigSection projectId={projectId} /> },
          { id: 'agents', label: 'Agents', content: <AgentsSection projectId={projectId} /> },
          { id: 'devices', label: 'Devices', content: <DevicesSection /> },
          { id: 'look', label: 'This browser', content: <LookSection /> },
          { id: 'daemon', label: 'Daemon', content: <DaemonSection /> },
        ]}
      />
    </Page>
  )
}
