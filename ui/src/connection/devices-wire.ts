/** What the bridge says of devices: who may do what here, and how they come in. Times are milliseconds since the epoch. */

/** Each holds the ones before it. */
export const SCOPES = ['view', 'prompt', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** What this page may do on this connection, and as whom. */
export interface Access {
  /** Own prompts are known in the log by it. */
  connection: string | null;
  /** Name of the machine that the bridge runs on. */
  computer: string | null;
  scope: Scope;
  /** Null for the person at that machine. */
  device: { id: string; name: string } | null;
  /** The bridge has said so, now or to this token before. */
  known: boolean;
}

/** Params of `_openagents/access`. */
export type AccessParams = Pick<Access, 'scope' | 'device'>;

/** Every device, everybody who knocks, and the doors that are open. */
export interface DevicesSnapshot {
  devices: Device[];
  requests: DeviceRequest[];
  /** The code that is valid now. */
  pairing: Pairing | null;
  /** Addresses from which the iOS app was let in. */
  apps: AllowedApp[];
  network: NetworkState;
}

export interface Device {
  id: string;
  name: string;
  scope: Scope;
  createdAt: number;
  lastSeen: number | null;
  address: string | null;
  /** How many are open now. */
  connections: number;
}

/** Somebody who knocks and waits for a person. */
export interface DeviceRequest {
  id: string;
  kind: 'pair' | 'ios';
  name: string;
  address: string;
  /** Shown on the device as well: `482 913`. The iOS app has none. */
  compare: string | null;
  askedAt: number;
  expiresAt: number;
  sessionId: string | null;
}

export interface Pairing {
  /** `K7QX-2M9P` */
  code: string;
  expiresAt: number;
  addresses: string[];
  fingerprint: string | null;
  /** What the QR code holds. */
  url: string;
  /** An SVG document. */
  qr: string;
}

export interface AllowedApp {
  address: string;
  allowedAt: number;
  until: number;
}

export interface NetworkState {
  lan: boolean;
  ios: 'off' | 'ask' | 'allow';
  computer: string;
  listeners: { kind: 'loopback' | 'web' | 'app'; address: string }[];
  fingerprint: string | null;
  certificateUntil: number | null;
  problem: string | null;
  /** Set on the command line: it cannot be switched. */
  fixed: boolean;
}

/** A line of the audit log. */
export interface RemoteAction {
  id: number | string;
  ts: number;
  device: string | null;
  name: string | null;
  address: string | null;
  action: string;
  detail: string | null;
}

/** A prompt that waits for the end of the running turn. */
export interface QueuedPrompt {
  id: string;
  text: string;
  /** Name of the client that sent it. */
  by: string;
}
