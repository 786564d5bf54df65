import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createdWebhookSchema,
  createWebhookSchema,
  deliveryDocumentSchema,
  emptyBodySchema,
  redeliverWebhookSchema,
  webhookDetailsSchema,
  webhookListSchema,
  webhookNameSchema,
  webhookQuerySchema,
  type CreatedWebhook,
  type CreateWebhook,
  type DeliveryDocument,
  type RedeliverWebhook,
  type WebhookDetails,
  type WebhookDocument,
  type WebhookQuery,
} from '@hangar/contracts';
import { Asked, FromCaller, type Caller } from '../auth/caller.ts';
import { Route } from '../auth/route.ts';
import { FromCreation, type Creation } from '../idempotency/idempotency.ts';
import { WebhooksService } from './webhooks.service.ts';

@ApiTags('webhooks')
@Controller('api/webhooks')
export class WebhooksController {
  constructor(@Inject(WebhooksService) private readonly webhooks: WebhooksService) {}

  @Route({
    at: 'POST ',
    id: 'createWebhook',
    summary: 'Have cards, turns or failures of your sessions posted to a URL, signed.',
    scope: 'write',
    creates: true,
    answers: { 201: createdWebhookSchema },
    errors: ['conflict', 'exhausted'],
  })
  create(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Body({ schema: createWebhookSchema }) body: CreateWebhook,
  ): Promise<CreatedWebhook> {
    return this.webhooks.create(caller, creation, body);
  }

  @Route({
    at: 'GET ',
    id: 'listWebhooks',
    summary: 'Your webhooks, without their secrets.',
    scope: 'read',
    answers: { 200: webhookListSchema },
  })
  list(@FromCaller() caller: Caller): Promise<{ items: WebhookDocument[] }> {
    return this.webhooks.list(caller);
  }

  @Route({
    at: 'GET :name',
    id: 'getWebhook',
    summary: 'A webhook and its newest deliveries, all or those in one state.',
    scope: 'read',
    query: webhookQuerySchema,
    answers: { 200: webhookDetailsSchema },
    errors: ['not_found'],
  })
  get(
    @FromCaller() caller: Caller,
    @Param('name', { schema: webhookNameSchema }) name: string,
    @Asked() query: WebhookQuery,
  ): Promise<WebhookDetails> {
    return this.webhooks.get(caller, name, query);
  }

  @Route({
    at: 'DELETE :name',
    id: 'deleteWebhook',
    summary: 'Delete a webhook and what was still to be sent to it.',
    scope: 'write',
    answers: { 204: null },
    errors: ['not_found'],
  })
  delete(
    @FromCaller() caller: Caller,
    @Param('name', { schema: webhookNameSchema }) name: string,
  ): Promise<void> {
    return this.webhooks.delete(caller, name);
  }

  @Route({
    at: 'POST :name/test',
    id: 'testWebhook',
    summary: 'Send a test event; its delivery shows what became of it.',
    scope: 'write',
    creates: true,
    answers: { 202: deliveryDocumentSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  test(
    @FromCaller() caller: Caller,
    @FromCreation() creation: Creation,
    @Param('name', { schema: webhookNameSchema }) name: string,
    @Body({ schema: emptyBodySchema.optional() }) _body: object,
  ): Promise<DeliveryDocument> {
    return this.webhooks.test(caller, creation, name);
  }

  @Route({
    at: 'POST :name/redeliver',
    id: 'redeliverWebhook',
    summary: 'Send a dead delivery again, under the same id.',
    scope: 'write',
    answers: { 202: deliveryDocumentSchema },
    errors: ['not_found', 'conflict', 'exhausted'],
  })
  redeliver(
    @FromCaller() caller: Caller,
    @Param('name', { schema: webhookNameSchema }) name: string,
    @Body({ schema: redeliverWebhookSchema }) { delivery }: RedeliverWebhook,
  ): Promise<DeliveryDocument> {
    return this.webhooks.redeliver(caller, name, delivery);
  }
}
