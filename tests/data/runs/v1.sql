-- Schema version 1 with every event type. Never edited: a newer version must read it as it is.
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE deliveries (
  delivery_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, delivered INTEGER NOT NULL CHECK (delivered >= 0),
  row TEXT NOT NULL
);
INSERT INTO "deliveries" VALUES('d1','r1',6,'{"delivery_id":"d1","run_id":"r1","attempt":3,"generation":7,"medium":"voice","delivered_chars":6,"alignment":"estimated","state":"interrupted"}');
INSERT INTO "deliveries" VALUES('d2','r1',10,'{"delivery_id":"d2","run_id":"r1","attempt":3,"generation":7,"medium":"screen","delivered_chars":10,"alignment":"unknown","state":"complete"}');
CREATE TABLE events (
  run_id TEXT NOT NULL REFERENCES runs (id), sequence INTEGER NOT NULL CHECK (sequence >= 1),
  event_id TEXT NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (run_id, sequence), UNIQUE (run_id, event_id)
) WITHOUT ROWID;
INSERT INTO "events" VALUES('r1',1,'r1-e1','{"run_id":"r1","sequence":1,"attempt":1,"event_id":"r1-e1","input_id":"i1","event":{"type":"progress","stage":"search","current":1,"total":3}}');
INSERT INTO "events" VALUES('r1',2,'r1-e2','{"run_id":"r1","sequence":2,"attempt":1,"event_id":"r1-e2","input_id":"i1","event":{"type":"assistant_output","output_id":"1.progress.p1","delta":"one moment","purpose":"notice","final":true,"history":"ephemeral","audience":null,"interruptible":false,"origin":{"origin":"progress","attempt":1,"input_id":"i1","logical_id":"p1"}}}');
INSERT INTO "events" VALUES('r1',3,'r1-e3','{"run_id":"r1","sequence":3,"attempt":1,"event_id":"r1-e3","input_id":"i1","event":{"type":"checkpoint","state":{"stage":"search","found":[{"id":"krater","score":0.5}]}}}');
INSERT INTO "events" VALUES('r1',4,'r1-e4','{"run_id":"r1","sequence":4,"attempt":1,"event_id":"r1-e4","input_id":"i1","event":{"type":"assistant_output","output_id":"1.driver.answer","delta":"Which ","purpose":"question","final":false,"history":"record","audience":null,"interruptible":true,"origin":{"origin":"driver","attempt":1,"input_id":"i1","logical_id":"answer"}}}');
INSERT INTO "events" VALUES('r1',5,'r1-e5','{"run_id":"r1","sequence":5,"attempt":1,"event_id":"r1-e5","input_id":"i1","event":{"type":"assistant_output","output_id":"1.driver.answer","delta":"one?","purpose":"question","final":true,"history":"record","audience":{"room":false,"participants":["ann"]},"interruptible":true,"origin":{"origin":"driver","attempt":1,"input_id":"i1","logical_id":"answer"}}}');
INSERT INTO "events" VALUES('r1',6,'r1-e6','{"run_id":"r1","sequence":6,"attempt":1,"event_id":"r1-e6","input_id":"i1","event":{"type":"input_requested","request_id":"which","token":"token"}}');
INSERT INTO "events" VALUES('r1',7,'r1-e7','{"run_id":"r1","sequence":7,"attempt":2,"event_id":"r1-e7","input_id":"i2","event":{"type":"assistant_output","output_id":"2.driver.answer","delta":"It is","purpose":"answer","final":false,"history":"record","audience":null,"interruptible":true,"origin":{"origin":"driver","attempt":2,"input_id":"i2","logical_id":"answer"}}}');
INSERT INTO "events" VALUES('r1',8,'r1-e8','{"run_id":"r1","sequence":8,"attempt":3,"event_id":"r1-e8","input_id":"i2","event":{"type":"assistant_output","output_id":"3.driver.answer","delta":"It is red.","purpose":"answer","final":true,"history":"record","audience":null,"interruptible":true,"origin":{"origin":"driver","attempt":3,"input_id":"i2","logical_id":"answer"}}}');
INSERT INTO "events" VALUES('r1',9,'r1-e9','{"run_id":"r1","sequence":9,"attempt":3,"event_id":"r1-e9","input_id":"i2","event":{"type":"decision","screen":[{"sources":[{"id":"beazley","title":"Attic Red-figure","where":"p. 12"}],"passages":["passage-1"]},{"exhibit":"krater"},{"choices":[{"id":"c1","text":"And when?"}]}],"refused":false,"utterances":[{"text":"Look here.","audience":{"room":false,"participants":["ann"]},"interruptible":false,"history":"ephemeral"}],"interactions":[{"targets":[{"kind":"agent","id":"potter"}],"payload":{"type":"message","text":"hello"},"disclosure":{"room":false,"participants":["ann"]}}],"action":{"action":{"type":"place","sherd":3},"seat":"seat-1"}}}');
INSERT INTO "events" VALUES('r1',10,'r1-e10','{"run_id":"r1","sequence":10,"attempt":3,"event_id":"r1-e10","input_id":"i2","event":{"type":"completed"}}');
INSERT INTO "events" VALUES('r2',1,'r2-e1','{"run_id":"r2","sequence":1,"attempt":1,"event_id":"r2-e1","input_id":"i2","event":{"type":"run_failed","code":"deadline_exceeded"}}');
INSERT INTO "events" VALUES('r3',1,'r3-e1','{"run_id":"r3","sequence":1,"attempt":1,"event_id":"r3-e1","input_id":"i3","event":{"type":"progress","stage":"search","current":null,"total":null}}');
INSERT INTO "events" VALUES('r3',2,'r3-e2','{"run_id":"r3","sequence":2,"attempt":1,"event_id":"r3-e2","input_id":"i3","event":{"type":"run_canceled","reason":"superseded_by_new_input"}}');
INSERT INTO "events" VALUES('r4',1,'r4-e1','{"run_id":"r4","sequence":1,"attempt":1,"event_id":"r4-e1","input_id":"i4","event":{"type":"input_requested","request_id":"which","token":"token-2"}}');
INSERT INTO "events" VALUES('r5',1,'r5-e1','{"run_id":"r5","sequence":1,"attempt":1,"event_id":"r5-e1","input_id":"i5","event":{"type":"checkpoint","state":null}}');
CREATE TABLE input_runs (
  room TEXT NOT NULL, channel TEXT NOT NULL, input_id TEXT NOT NULL, agent TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES runs (id),
  PRIMARY KEY (room, channel, input_id, agent),
  FOREIGN KEY (room, channel, input_id) REFERENCES inputs (room, channel, input_id)
) WITHOUT ROWID;
INSERT INTO "input_runs" VALUES('kiosk','phone','i5','guide','r5');
INSERT INTO "input_runs" VALUES('kiosk','visitor','i1','guide','r1');
INSERT INTO "input_runs" VALUES('kiosk','visitor','i2','guide','r1');
INSERT INTO "input_runs" VALUES('kiosk','visitor','i2','potter','r2');
INSERT INTO "input_runs" VALUES('kiosk','visitor','i3','guide','r3');
INSERT INTO "input_runs" VALUES('kiosk','visitor','i4','guide','r4');
CREATE TABLE inputs (
  room TEXT NOT NULL, channel TEXT NOT NULL, input_id TEXT NOT NULL, fingerprint TEXT NOT NULL,
  PRIMARY KEY (room, channel, input_id)
) WITHOUT ROWID;
INSERT INTO "inputs" VALUES('kiosk','phone','i5','mark-i5');
INSERT INTO "inputs" VALUES('kiosk','visitor','i1','mark-i1');
INSERT INTO "inputs" VALUES('kiosk','visitor','i2','mark-i2');
INSERT INTO "inputs" VALUES('kiosk','visitor','i3','mark-i3');
INSERT INTO "inputs" VALUES('kiosk','visitor','i4','mark-i4');
CREATE TABLE runs (
  id TEXT PRIMARY KEY, room TEXT NOT NULL, channel TEXT NOT NULL, agent TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active','waiting_for_input','completed','failed','canceled')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1), sequence INTEGER NOT NULL CHECK (sequence >= 0),
  input_id TEXT NOT NULL, record TEXT NOT NULL
);
INSERT INTO "runs" VALUES('r1','kiosk','visitor','guide','completed',3,10,'i2','{"id":"r1","room":"kiosk","channel":"visitor","agent":"guide","root_input_id":"i1","input":{"id":"i2","text":"the red one","source":{"kind":"participant","id":"ann"},"channel":"visitor","disclosure":{"room":true,"participants":[]},"participant":{"id":"ann","role":"player","seat":"seat-1"},"language":"","data":{}},"disclosure":{"room":false,"participants":["ann","ben"]},"budget_ms":10000,"deadline_ms":null,"status":"completed","attempt":3,"sequence":10,"checkpoint":{"stage":"search","found":[{"id":"krater","score":0.5}]},"waiting":null,"code":"","appended_to":""}');
INSERT INTO "runs" VALUES('r2','kiosk','visitor','potter','failed',1,1,'i2','{"id":"r2","room":"kiosk","channel":"visitor","agent":"potter","root_input_id":"i1","input":{"id":"i2","text":"the red one","source":{"kind":"participant","id":"ann"},"channel":"visitor","disclosure":{"room":true,"participants":[]},"participant":null,"language":"","data":{}},"disclosure":{"room":true,"participants":[]},"budget_ms":10000,"deadline_ms":null,"status":"failed","attempt":1,"sequence":1,"checkpoint":null,"waiting":null,"code":"deadline_exceeded","appended_to":""}');
INSERT INTO "runs" VALUES('r3','kiosk','visitor','guide','canceled',1,2,'i3','{"id":"r3","room":"kiosk","channel":"visitor","agent":"guide","root_input_id":"i3","input":{"id":"i3","text":"and","source":{"kind":"participant","id":"ann"},"channel":"visitor","disclosure":{"room":true,"participants":[]},"participant":null,"language":"","data":{}},"disclosure":{"room":true,"participants":[]},"budget_ms":10000,"deadline_ms":null,"status":"canceled","attempt":1,"sequence":2,"checkpoint":null,"waiting":null,"code":"superseded_by_new_input","appended_to":""}');
INSERT INTO "runs" VALUES('r4','kiosk','visitor','guide','waiting_for_input',1,1,'i4','{"id":"r4","room":"kiosk","channel":"visitor","agent":"guide","root_input_id":"i4","input":{"id":"i4","text":"and when","source":{"kind":"participant","id":"ben"},"channel":"visitor","disclosure":{"room":true,"participants":[]},"participant":null,"language":"","data":{}},"disclosure":{"room":true,"participants":[]},"budget_ms":10000,"deadline_ms":null,"status":"waiting_for_input","attempt":1,"sequence":1,"checkpoint":[],"waiting":{"request_id":"which","token":"token-2"},"code":"","appended_to":"r3"}');
INSERT INTO "runs" VALUES('r5','kiosk','phone','guide','active',1,1,'i5','{"id":"r5","room":"kiosk","channel":"phone","agent":"guide","root_input_id":"i5","input":{"id":"i5","text":"hello","source":{"kind":"agent","id":"potter"},"channel":"phone","disclosure":{"room":false,"participants":[]},"participant":null,"language":"","data":{}},"disclosure":{"room":false,"participants":[]},"budget_ms":10000,"deadline_ms":11000,"status":"active","attempt":1,"sequence":1,"checkpoint":null,"waiting":null,"code":"","appended_to":""}');
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
;
INSERT INTO "state" VALUES('room','{"focus":null,"phase":"play"}');
CREATE TABLE transcript (
  position INTEGER PRIMARY KEY, room TEXT NOT NULL, channel TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL,
  UNIQUE (room, channel, key)
);
INSERT INTO "transcript" VALUES(1,'kiosk','visitor','in:i1','{"room":"kiosk","channel":"visitor","key":"in:i1","role":"visitor","author":"ann","text":"¿Quién lo hizo? 😀","run_id":"r1","disclosure":{"room":false,"participants":["ann","ben"]}}');
INSERT INTO "transcript" VALUES(2,'kiosk','visitor','in:i2','{"room":"kiosk","channel":"visitor","key":"in:i2","role":"visitor","author":"ann","text":"the red one","run_id":"r1","disclosure":{"room":true,"participants":[]}}');
INSERT INTO "transcript" VALUES(3,'kiosk','visitor','out:r1:3.driver.answer','{"room":"kiosk","channel":"visitor","key":"out:r1:3.driver.answer","role":"agent","author":"guide","text":"It is red.","run_id":"r1","disclosure":{"room":false,"participants":["ann","ben"]}}');
INSERT INTO "transcript" VALUES(4,'kiosk','visitor','in:i3','{"room":"kiosk","channel":"visitor","key":"in:i3","role":"visitor","author":"ann","text":"and","run_id":"r3","disclosure":{"room":true,"participants":[]}}');
INSERT INTO "transcript" VALUES(5,'kiosk','visitor','in:i4','{"room":"kiosk","channel":"visitor","key":"in:i4","role":"visitor","author":"ben","text":"and when","run_id":"r4","disclosure":{"room":true,"participants":[]}}');
INSERT INTO "transcript" VALUES(6,'kiosk','phone','in:i5','{"room":"kiosk","channel":"phone","key":"in:i5","role":"visitor","author":"potter","text":"hello","run_id":"r5","disclosure":{"room":false,"participants":[]}}');
CREATE UNIQUE INDEX one_open_run ON runs (room, channel, agent) WHERE status IN ('active','waiting_for_input');
CREATE INDEX deliveries_of_run ON deliveries (run_id);
COMMIT;
