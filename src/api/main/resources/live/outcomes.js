import {swatch} from './charts.js';
import {h} from './dom.js';
import {count, duration} from './format.js';

/** The outcomes in the order in which charts stack them. */
export const OUTCOMES = [
  {key: 'ALLOWED', name: 'Allowed', colour: '--allowed'},
  {key: 'QUEUED', name: 'Queued', colour: '--queued'},
  {key: 'DENIED', name: 'Denied', colour: '--denied'},
  {key: 'EXPIRED', name: 'Expired', colour: '--expired'},
];

export function outcome(key) {
  const {name, colour} = OUTCOMES.find(one => one.key === key) ?? {name: key, colour: '--muted'};
  return h('span.outcome', swatch(colour), name);
}

const WORDS = {
  WITHIN_LIMITS: d => (d.limitedBy === null
      ? 'All limits permit it.'
      : `Within ${d.limitedBy}: ${count(d.remaining)} left of ${count(d.limit)}.`),
  THROTTLED: d => `Allowed with a delay of ${duration(d.delayMs)}.`,
  NO_POLICY: () => 'No policy matches it.',
  SETTLED: () => 'The SETTLE was charged, or has settled a reservation.',
  RELEASED: () => 'The reservation has ended: its slots are free.',
  RENEWED: () => 'The reservation was prolonged.',
  NOTHING_RESERVED: () => 'Nothing to end: the client has no open reservation with this requestId.',
  ALREADY_ENDED: () => 'Nothing to end: the reservation was ended in another way.',
  RESERVATION_ENDED: () => 'Nothing to renew: the reservation has ended, or there was none.',
  TOO_MANY_RESERVATIONS: () => 'There are as many reservations as there may be: retry later.',
  USAGE_RESET: () => 'The usage was freed.',
  LIMIT_EXCEEDED: d => `Exceeds ${d.limitedBy}${again(d)}`,
  QUOTA_NOT_AT_HAND: d => `No lease of ${d.limitedBy} arrived in time, although the limit may have quota${again(d)}`,
  COST_NEVER_FITS: d => `The cost exceeds the capacity of ${d.limitedBy}: reduce the cost.`,
  TOO_LARGE: () => 'Larger than the policy’s max-size: reduce the size.',
  IDEMPOTENCY_MISMATCH: () => 'The requestId was used for a request with other content: use a new requestId.',
  SHARED_LIMIT_REFUND: () => 'A SETTLE of a shared limit cannot be negative.',
  POLICY_NOT_APPLICABLE: d => `Nothing was freed: the policy ${d.limitedBy} does not apply to such requests.`,
  SHAPED: d => `Waits in ${d.queue}${place(d)}.`,
  QUEUE_FULL: d => `The queue ${d.queue ?? ''} is full, and no request of a lower priority waits in it${again(d)}`,
  TOO_LATE: d => `It would leave ${d.queue ?? 'the queue'} after its deadline or max-wait${again(d)}`,
  EVICTED: d => `Evicted from ${d.queue ?? 'the queue'} by a request of a higher priority.`,
  WAITED_TOO_LONG: d => `Its deadline or max-wait passed in ${d.queue ?? 'the queue'}.`,
  CANCELLED: () => 'The request or reservation was cancelled.',
  NOT_WAITING: () => 'Nothing to cancel: the request is not waiting.',
  NO_QUEUE: () => 'The policy’s queue does not exist, or drains by earlier rules.',
  NOT_SHAPED: () => 'It must not start yet, but no policy that applies has a queue in which it could wait.',
  NO_QUEUE_KEY: d => `The queue ${d.queue ?? ''} has the key field ${d.limitedBy}, which the request lacks.`,
  QUEUE_DRAINING: d => `The queue ${d.queue ?? ''} admits nothing: an operator lets it drain.`,
  PURGED: d => `Purged from ${d.queue ?? 'the queue'} by an operator.`,
};

/** The reasons of decisions. */
export const REASONS = Object.keys(WORDS);

/** Returns the reason of a decision as a sentence. */
export function why(decision) {
  const words = WORDS[decision.reason]?.(decision) ?? `${decision.reason}.`;
  const notes = [
    decision.observed && `Would be denied by ${decision.observedBy.join(', ')}, which only observes.`,
    decision.shadowBanned && 'Shadow-banned: the caller gets a successful response.',
    decision.repeated && 'Repeated: the first decision on this requestId.',
  ];
  return [words, ...notes.filter(Boolean)].join(' ');
}

function again({outcome, retryAfterMs}) {
  return outcome !== 'DENIED' ? '.'
      : retryAfterMs === null ? ': it is never allowed.'
      : `: allowed in ${duration(retryAfterMs)} if no other request arrives.`;
}

function place({position, expectedWaitMs}) {
  return (position === null ? '' : ` at position ${count(position)}`)
      + (expectedWaitMs === null ? '' : `, expected wait ${duration(expectedWaitMs)}`);
}
