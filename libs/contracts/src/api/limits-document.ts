import { z } from 'zod';
import { environmentNameSchema, harnessNameSchema } from './names.ts';

export const limitsQuerySchema = z.strictObject({
  environment: environmentNameSchema.optional(),
  harness: harnessNameSchema.optional(),
});
export type LimitsQuery = z.output<typeof limitsQuerySchema>;

/** Every bound that is in force, before anything starts [S8]. */
export const limitsDocumentSchema = z
  .object({
    environment: z.string().nullable(),
    harness: z.string().nullable(),
    limits: z.array(
      z.object({
        name: z.string(),
        /** What will happen; null: no bound. */
        value: z.number().nullable(),
        unit: z.string(),
        default: z.number().nullable(),
        /** setting, environment or built_in: where the value comes from. */
        source: z.enum(['built_in', 'setting', 'environment']),
        /** The setting or field that changes it; null: nothing does. */
        changed_by: z.string().nullable(),
        does: z.string(),
      }),
    ),
  })
  .meta({ id: 'Limits' });
export type LimitsDocument = z.infer<typeof limitsDocumentSchema>;
