import { useState, type SubmitEvent } from 'react';
import { Button, Checkbox, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { AnswerCardInput, CardDocument, SessionDocument } from '@hangar/contracts';
import { tellFailure, useAct } from '../lib/act.ts';
import { answersOf, isAnswered, type Chosen } from '../lib/card-answers.ts';
import { useClient } from '../lib/client.tsx';
import { keys } from '../lib/queries.ts';

interface AnswerProps {
  card: CardDocument;
  session: Pick<SessionDocument, 'id' | 'state'>;
}

export function CardAnswer({ card, session }: AnswerProps) {
  switch (card.kind) {
    case 'question':
      return <QuestionAnswer card={card} session={session} />;
    case 'decision':
      return <Decision card={card} session={session} />;
    case 'interrupted':
      return <AfterInterruption session={session} />;
    default:
      return null;
  }
}

/** The first answer counts; who comes late is told what was decided, and sees the card go. */
function useAnswer({ card, session }: AnswerProps) {
  const client = useClient();
  const queries = useQueryClient();
  const { tryTo, isActing } = useAct();
  const answer = async (body: AnswerCardInput): Promise<void> => {
    await tryTo(() => client.sessions.answer(session.id, card.id, body));
    await Promise.all([
      queries.invalidateQueries({ queryKey: keys.session(session.id) }),
      queries.invalidateQueries({ queryKey: keys.cards }),
    ]).catch(tellFailure);
  };
  return { answer, isActing };
}

function Decision(props: AnswerProps) {
  const { answer, isActing } = useAnswer(props);
  const [reason, setReason] = useState('');
  return (
    <Group gap="xs" mt="sm" align="end">
      <Button loading={isActing} onClick={() => void answer({ verdict: 'allow' })}>
        Allow
      </Button>
      <Button
        variant="default"
        loading={isActing}
        onClick={() => void answer({ verdict: 'deny', reason })}
      >
        Deny
      </Button>
      <TextInput
        size="xs"
        flex={1}
        miw={160}
        aria-label="Why it is denied"
        placeholder="Why, for the agent (with a deny)"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </Group>
  );
}

function AfterInterruption({ session }: Pick<AnswerProps, 'session'>) {
  const client = useClient();
  const { act, isActing } = useAct();
  if (session.state !== 'INTERRUPTED') return null;
  return (
    <Group gap="xs" mt="sm">
      <Button loading={isActing} onClick={() => act(() => client.sessions.retry(session.id))}>
        Retry: send the message again
      </Button>
      <Button
        variant="default"
        loading={isActing}
        onClick={() => act(() => client.sessions.continue(session.id))}
      >
        Continue without it
      </Button>
    </Group>
  );
}

function QuestionAnswer(props: AnswerProps) {
  const { questions } = props.card;
  const { answer, isActing } = useAnswer(props);
  const [chosen, setChosen] = useState<Record<string, Chosen>>({});
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void answer({ answers: answersOf(questions, chosen) });
  };
  const change = (id: string, value: Chosen): void => setChosen({ ...chosen, [id]: value });
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" mt="sm">
        {questions.map((question) => (
          <QuestionFields
            key={question.id}
            question={question}
            isOnly={questions.length === 1}
            chosen={chosen[question.id] ?? { labels: [], text: '' }}
            onChange={(value) => change(question.id, value)}
          />
        ))}
        <Group gap="xs">
          <Button type="submit" loading={isActing} disabled={!isAnswered(questions, chosen)}>
            Answer
          </Button>
          <Button
            variant="default"
            loading={isActing}
            onClick={() => void answer({ verdict: 'deny' })}
          >
            Go on without an answer
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface FieldsProps {
  question: CardDocument['questions'][number];
  isOnly: boolean;
  chosen: Chosen;
  onChange(value: Chosen): void;
}

function QuestionFields({ question, isOnly, chosen, onChange }: FieldsProps) {
  const { id, text, choices, is_multiple } = question;
  const options = choices.map(({ label, description }) => ({ value: label, label, description }));
  return (
    <Stack gap={6} role="group" aria-label={text}>
      {!isOnly && (
        <Text size="sm" fw={600}>
          {text}
        </Text>
      )}
      {is_multiple ? (
        <Checkbox.Group
          aria-label={text}
          value={chosen.labels}
          onChange={(labels) => onChange({ ...chosen, labels })}
        >
          <Stack gap={6}>
            {options.map((option) => (
              <Checkbox key={option.value} size="xs" {...option} />
            ))}
          </Stack>
        </Checkbox.Group>
      ) : (
        <Radio.Group
          name={id}
          aria-label={text}
          value={chosen.labels[0] ?? null}
          onChange={(label) => onChange({ labels: [label as string], text: '' })}
        >
          <Stack gap={6}>
            {options.map((option) => (
              <Radio key={option.value} size="xs" {...option} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      <TextInput
        size="xs"
        aria-label={`Your own words: ${text}`}
        placeholder={choices.length > 0 ? 'Or in your own words' : 'Your answer'}
        value={chosen.text}
        onChange={(event) =>
          onChange({ labels: is_multiple ? chosen.labels : [], text: event.currentTarget.value })
        }
      />
    </Stack>
  );
}
