import { describe, expect, it } from '@jest/globals';
import { Controller, Get, RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { CONTROLLERS } from '../gateway.module.ts';
import { ALL_TOOLS } from '../mcp/all-tools.ts';
import { ROUTE_RULES, type RouteRules } from './route.ts';

interface Found {
  at: string;
  rules: RouteRules | undefined;
}

/** Every handler that Nest will make a route of. */
function routesOf(controller: Type<unknown>): Found[] {
  const prototype = controller.prototype as Record<string, object>;
  const base = String(Reflect.getMetadata(PATH_METADATA, controller));
  return Object.getOwnPropertyNames(prototype)
    .map((name) => prototype[name]!)
    .filter((handler) => Reflect.hasMetadata(METHOD_METADATA, handler))
    .map((handler) => {
      const verb = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as number];
      const path = String(Reflect.getMetadata(PATH_METADATA, handler));
      return {
        at: `${verb} /${base}/${path}`.replace(/\/+$/, ''),
        rules: Reflect.getMetadata(ROUTE_RULES, handler) as RouteRules | undefined,
      };
    });
}

const scopesOf = (controllers: Type<unknown>[]): Record<string, string> =>
  Object.fromEntries(
    controllers.flatMap(routesOf).map(({ at, rules }) => [at, rules?.scope ?? 'MISSING']),
  );

/** A new route fails here until somebody has written down who may call it. */
const EXPECTED: Record<string, string> = {
  'POST /api/sessions': 'write',
  'GET /api/sessions': 'read',
  'GET /api/sessions/:ref': 'read',
  'GET /api/cards': 'read',
  'DELETE /api/sessions/:ref': 'write',
  'POST /api/sessions/:ref/open': 'write',
  'POST /api/sessions/:ref/send': 'write',
  'DELETE /api/sessions/:ref/queue/:message_id': 'write',
  'POST /api/sessions/:ref/cards/:card_id/answer': 'write',
  'PUT /api/sessions/:ref/permissions': 'write',
  'PUT /api/sessions/:ref/harness': 'write',
  'POST /api/sessions/:ref/suspend': 'write',
  'POST /api/sessions/:ref/interrupt': 'write',
  'POST /api/sessions/:ref/retry': 'write',
  'POST /api/sessions/:ref/continue': 'write',
  'POST /api/sessions/:ref/keep': 'write',
  'POST /api/sessions/:ref/rename': 'write',
  'POST /api/sessions/:ref/archive': 'write',
  'GET /api/sessions/:ref/checkpoints': 'read',
  'POST /api/sessions/:ref/checkpoints': 'write',
  'GET /api/sessions/:ref/checkpoints/:id/export': 'read',
  'GET /api/sessions/:ref/changes': 'read',
  'POST /api/sessions/:ref/exec': 'write',
  'GET /api/sessions/:ref/events': 'read',
  'GET /api/sessions/:ref/activity': 'read',
  'GET /api/sessions/:ref/activity/live': 'read',
  'GET /api/sessions/:ref/decisions': 'read',
  'GET /api/events': 'read',
  'POST /api/environments': 'write',
  'PUT /api/environments/:name': 'write',
  'GET /api/environments': 'read',
  'GET /api/environments/:name': 'read',
  'DELETE /api/environments/:name': 'write',
  'POST /api/secrets': 'write',
  'GET /api/secrets': 'read',
  'DELETE /api/secrets/:name': 'write',
  'GET /api/who': 'read',
  'POST /api/tokens': 'admin',
  'GET /api/tokens': 'admin',
  'DELETE /api/tokens/:id': 'admin',
  'GET /api/limits': 'read',
  'GET /api/harnesses': 'read',
  'GET /api/audit': 'read',
  'GET /api/audit/verify': 'read',
  'GET /api/audit/replay': 'read',
  'POST /api/sessions/:ref/terminals': 'write',
  'GET /api/sessions/:ref/terminals': 'read',
  'DELETE /api/sessions/:ref/terminals/:id': 'write',
  'GET /api/sessions/:ref/terminals/:id/attach': 'write',
  'POST /api/webhooks': 'write',
  'GET /api/webhooks': 'read',
  'GET /api/webhooks/:name': 'read',
  'DELETE /api/webhooks/:name': 'write',
  'POST /api/webhooks/:name/test': 'write',
  'POST /api/webhooks/:name/redeliver': 'write',
  'ALL /mcp': 'read',
};

/** The same for tools: the route that they share lets in whoever may read. */
const EXPECTED_TOOLS: Record<string, string> = {
  limits: 'read',
  new_session: 'write',
  list_sessions: 'read',
  get_session: 'read',
  send_to_session: 'write',
  answer: 'write',
  open_session: 'write',
  suspend_session: 'write',
  keep_session: 'write',
  interrupt_session: 'write',
  resolve_interruption: 'write',
  archive_session: 'write',
  changes: 'read',
  activity: 'read',
  decisions: 'read',
  checkpoints: 'read',
};

describe('routes', () => {
  it('each have the scope that is written down for them', () => {
    expect(scopesOf(CONTROLLERS)).toEqual(EXPECTED);
  });

  it('and tools each have the scope that is written down for them', () => {
    const scopes = ALL_TOOLS.map(({ name, scope }) => [name, scope]);
    expect(Object.fromEntries(scopes)).toEqual(EXPECTED_TOOLS);
    expect(new Set(ALL_TOOLS.map(({ name }) => name)).size).toBe(ALL_TOOLS.length);
  });

  it('without rules are found', () => {
    class Forgotten {
      list(): void {
        // Only its decorators matter here.
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Forgotten.prototype, 'list')!;
    Get('all')(Forgotten.prototype, 'list', descriptor);
    Controller('api/forgotten')(Forgotten);
    expect(scopesOf([Forgotten])).toEqual({ 'GET /api/forgotten/all': 'MISSING' });
  });

  it('have operation ids of their own', () => {
    const ids = CONTROLLERS.flatMap(routesOf).map(({ rules }) => rules?.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
