/** Wire types for devices, access requests and the network. Times are milliseconds since the epoch. */

/** Each scope includes the ones before it. */
export const SCOPES = ['view', 'prompt', 'approve', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Access {
  /** Identifies this page's own prompts in the log. */
  connection: string | null;
  /** Name of the machine that runs the bridge. */
  computer: string | null;
  scope: Scope;
  /** Null for the user at that machine. */
  device: { id: string; name: string } | null;
  /** The bridge has confirmed the scope, now or earlier with this token. */
  known: boolean;
}

/** Params of `_openagents/access`. */
export type AccessParams = Pick<Access, 'scope' | 'device'>;

export interface DevicesSnapshot {
  devices: Device[];
  requests: DeviceRequest[];
  /** The pairing code that is currently valid. */
  pairing: Pairing | null;
  /** Addresses from which the iOS app is allowed. */
  apps: AllowedApp[];
  network: NetworkState;
}

export interface Device {
  id: string;
  name: string;
  scope: Scope;
  lastSeen: number | null;
  address: string | null;
  connections: number;
}

export interface DeviceRequest {
  id: string;
  kind: 'pair' | 'ios';
  name: string;
  address: string;
  /** Also shown on the device: `482 913`. Null for the iOS app. */
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
  /** The content of the QR code. */
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
  /** Set on the command line and not changeable here. */
  fixed: boolean;
}

export interface RemoteAction {
  id: number | string;
  ts: number;
  device: string | null;
  name: string | null;
  address: string | null;
  action: string;
  detail: string | null;
}

/** A prompt that is queued behind the running turn. */
export interface QueuedPrompt {
  id: string;
  text: string;
  /** Name of the client that sent it. */
  by: string;
}
