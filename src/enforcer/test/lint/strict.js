// Fails if Ajv's strict mode rejects a JSON Schema.
const {readFileSync} = require('fs');
const Ajv = require('ajv/dist/2020');

new Ajv({strict: true}).compile(JSON.parse(readFileSync(process.argv[2], 'utf8')));
