-- MariaDB with explicit_defaults_for_timestamp=OFF: then `modified` is NOT NULL, as timestamp modes want it.
CREATE TABLE customers (
  id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  email VARCHAR(255) NOT NULL UNIQUE KEY,
  created DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  modified TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
);

CREATE TABLE products (
  seq INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  created DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  modified TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
);

CREATE TABLE orders (
  seq INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  product VARCHAR(255) NOT NULL
);

CREATE TABLE bulk_tab (
  name VARCHAR(255),
  log VARCHAR(255)
);

INSERT INTO customers (name, email) VALUES ('jyp', 'ypjeong@kafka.com'), ('jyh', 'yhjeon@kafka.com'), ('kky', 'kykim@kafka.com');
INSERT INTO products (name) VALUES ('computer'), ('mouse');
INSERT INTO orders (name, product) VALUES ('jyp', 'computer'), ('jyp', 'mouse'), ('jyp', 'keyboard');
INSERT INTO bulk_tab VALUES (NULL, 'x');
