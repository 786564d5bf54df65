import { Table } from '@mantine/core';
import type { LimitsDocument } from '@hangar/contracts';

type Limit = LimitsDocument['limits'][number];

const SOURCES: Record<Limit['source'], string> = {
  built_in: 'built in',
  setting: 'a setting of the server',
  environment: 'the environment',
};

/** Each bound, what happens at it, and where it comes from. */
export const LimitsList = ({ limits }: { limits: Limit[] }) => (
  <Table fz="xs" verticalSpacing={4}>
    <Table.Thead>
      <Table.Tr>
        <Table.Th>What it does</Table.Th>
        <Table.Th>Value</Table.Th>
        <Table.Th>From</Table.Th>
      </Table.Tr>
    </Table.Thead>
    <Table.Tbody>
      {limits.map((limit) => (
        <Table.Tr key={limit.name}>
          <Table.Td title={limit.name}>{limit.does}</Table.Td>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            {limit.value === null ? 'no bound' : `${limit.value} ${limit.unit}`}
          </Table.Td>
          <Table.Td title={limit.changed_by ?? undefined}>{SOURCES[limit.source]}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
);
