import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './checkout.ts';

export interface ProtoField {
  name: string;
  /** As JSON has it: text, number, true or false, or the name of a shape; `[]` for lists. */
  type: string;
  optional: boolean;
  comment: string;
}

export interface ProtoMessage {
  name: string;
  comment: string;
  fields: ProtoField[];
}

export interface ProtoFile {
  /** Such as `hangar/v1/session.proto`. */
  path: string;
  comment: string;
  messages: ProtoMessage[];
}

interface Location {
  path?: number[];
  leadingComments?: string;
}

interface Descriptor {
  name: string;
  package: string;
  messageType?: {
    name: string;
    field?: {
      name: string;
      type: string;
      typeName?: string;
      label: string;
      proto3Optional?: boolean;
    }[];
  }[];
  sourceCodeInfo?: { location: Location[] };
}

/** Numbers of protobuf's own descriptor: the places that comments are attached to. */
const PACKAGE = 2;
const MESSAGE = 4;
const FIELD = 2;

const IMAGE_BYTES_MAX = 64 * 1024 * 1024;

const JSON_TYPES: Record<string, string> = {
  TYPE_STRING: 'text',
  TYPE_DOUBLE: 'number',
  TYPE_BOOL: 'true or false',
};

/** The files of one package with their comments, as buf reads them. */
export function protoFiles(packageName: string): ProtoFile[] {
  const buf = join(ROOT, 'node_modules/.bin/buf');
  const image = execFileSync(buf, ['build', '-o', '-#format=json'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: IMAGE_BYTES_MAX,
  });
  const { file } = JSON.parse(image) as { file: Descriptor[] };
  return file.filter((each) => each.package === packageName).map(readFile);
}

function readFile(descriptor: Descriptor): ProtoFile {
  const comments = new Map(
    (descriptor.sourceCodeInfo?.location ?? []).map(({ path = [], leadingComments = '' }) => [
      path.join('.'),
      leadingComments.trim().replaceAll(/\n\s*/g, ' '),
    ]),
  );
  const commentAt = (...path: number[]): string => comments.get(path.join('.')) ?? '';
  return {
    path: descriptor.name,
    comment: commentAt(PACKAGE),
    messages: (descriptor.messageType ?? []).map((message, m) => ({
      name: message.name,
      comment: commentAt(MESSAGE, m),
      fields: (message.field ?? []).map((field, f) => ({
        name: field.name,
        type: typeOf(field),
        optional: field.proto3Optional ?? false,
        comment: commentAt(MESSAGE, m, FIELD, f),
      })),
    })),
  };
}

function typeOf(field: { type: string; typeName?: string; label: string }): string {
  const shape = field.typeName?.split('.').at(-1);
  const type = shape ?? JSON_TYPES[field.type];
  if (type === undefined) throw new Error(`no name in JSON for the proto type ${field.type}`);
  return field.label === 'LABEL_REPEATED' ? `${type}[]` : type;
}
